// The list of all runs.
"use strict";
(async () => {
  const holder = document.getElementById("runs");
  if (!holder) return;
  const rows = popcorn.rowsOf(await popcorn.load("runs"));
  popcorn.table(holder, {
    label: "runs", rows, sort: { key: "started", down: true },
    columns: [
      { key: "model", label: "model", link: "file" }, { key: "mode", label: "outcome", kind: "outcome" },
      { key: "speedup", label: "speedup", kind: "ratio", low: "speedup_low", high: "speedup_high" }, { key: "sol", label: "SOL", kind: "percent", title: "Speed of light: how near the call comes to the least time that this machine allows" }, { key: "time_s", label: "runtime", kind: "time", first: "up" },
      { key: "problem", label: "problem", name: true }, { key: "tier", label: "tier" },
      { key: "turns", label: "turns", kind: "count" }, { key: "tokens", label: "tokens", kind: "count" }, { key: "cost_usd", label: "cost", kind: "money" }, { key: "wall_s", label: "wall clock", kind: "long" },
      { key: "language", label: "language", fold: true }, { key: "submitted_by", label: "submitted by", fold: true, optional: true }, { key: "started", label: "started", kind: "date", first: "down" },
    ],
    filters: [["model", "model"], ["tier", "tier"], ["variant", "variant"], ["level", "level"], ["mode", "outcome"], ["submitted_by", "submitted by"], ["store", "store"]],
  });
})();
