// The list of problems.
"use strict";
(() => {
  const holder = document.getElementById("problems");
  if (!holder) return;
  popcorn.table(holder, {
    label: "problems", rows: popcorn.embedded("problems-data"), sort: { key: "problem", down: false },
    columns: [
      { key: "problem", label: "problem", link: "file" }, { key: "title", label: "what it is", wrap: true }, { key: "domain", label: "domain" }, { key: "level", label: "level", kind: "count" },
      { key: "evaluations", label: "evaluations", kind: "count" }, { key: "correct", label: "correct", kind: "count" }, { key: "runs", label: "runs", kind: "count" },
      { key: "speedup", label: "best speedup", kind: "ratio", low: "speedup_low", high: "speedup_high" },
    ],
    filters: [["variant", "variant"], ["level", "level"], ["domain", "domain"]],
  });
})();
