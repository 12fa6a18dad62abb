// One search: best so far, lineage, archive, candidates.
"use strict";
(() => {
  const u = popcorn.units;
  const $ = (id) => document.getElementById(id);
  const data = popcorn.embedded("search-data");
  const go = (datum) => datum.link && location.assign(popcorn.root + datum.link);
  const WHOLE = { tickCount: 12, tickMinStep: 1, format: "d", labelOverlap: true };
  const byId = new Map(data.nodes.map((node) => [node.id, node]));

  function curve(x) {
    const known = data.curve.filter((row) => typeof row[x] === "number");
    $("curve").hidden = !known.length;
    if (!known.length) return;
    const at = { field: x, type: "quantitative", title: x === "evaluation" ? "evaluations" : "US dollars", axis: x === "evaluation" ? WHOLE : { tickCount: 8, labelOverlap: true } };
    popcorn.chart($("curve"), ({ css }) => ({ width: "container", height: 280, data: { values: known.map((row) => ({ ...row, text: u.ratio(row.speedup), most: u.ratio(row.best) })) }, layer: [
      { data: { values: [{ one: 1 }] }, mark: { type: "rule", strokeDash: [4, 4] }, encoding: { y: { field: "one", type: "quantitative" }, color: { value: css("--line-strong") } } },
      { transform: [{ filter: "isValid(datum.speedup)" }], mark: { type: "point", filled: true, size: 22, opacity: 0.35 }, encoding: { x: at, y: { field: "speedup", type: "quantitative" }, color: { value: css("--soft") }, tooltip: [{ field: "evaluation" }, { field: "text", title: "speedup" }] } },
      { transform: [{ filter: "isValid(datum.best)" }], mark: { type: "line", interpolate: "step-after", strokeWidth: 2.2 }, encoding: { x: at, y: { field: "best", type: "quantitative", title: "speedup over eager", scale: { zero: false }, axis: { tickCount: 7 } }, tooltip: [{ field: "evaluation" }, { field: "most", title: "best so far" }, { field: "id", title: "by" }] } },
    ] }));
  }
  document.getElementById("against").addEventListener("click", (event) => {
    const button = event.target.closest("[data-x]");
    if (!button) return;
    document.querySelectorAll("#against button").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
    curve(button.dataset.x);
  });

  function lineage() {
    const y = (node) => node.speedup;
    const nodes = data.nodes.map((node) => ({ ...node, y: y(node) ?? 0, good: typeof node.speedup === "number", text: node.speedup === null ? node.outcome : u.ratio(node.speedup), how: node.operator || "" }));
    const edges = data.nodes.flatMap((node) => node.parents.filter((parent) => byId.has(parent)).map((parent) => ({ x: byId.get(parent).evaluation, y: byId.get(parent).speedup ?? 0, x2: node.evaluation, y2: node.speedup ?? 0, line: node.line && byId.get(parent).line })));
    const x = { field: "evaluation", type: "quantitative", title: "evaluations", axis: WHOLE };
    popcorn.chart($("lineage"), ({ css, series }) => ({ width: "container", height: 380, layer: [
      { data: { values: edges }, mark: { type: "rule" }, encoding: { x: { field: "x", type: "quantitative" }, x2: { field: "x2" }, y: { field: "y", type: "quantitative" }, y2: { field: "y2" }, strokeWidth: { condition: { test: "datum.line", value: 2.5 }, value: 0.8 }, opacity: { condition: { test: "datum.line", value: 1 }, value: 0.35 }, color: { condition: { test: "datum.line", value: series[0] }, value: css("--soft") } } },
      { data: { values: nodes }, mark: { type: "point", filled: true, cursor: "pointer" }, encoding: { x, y: { field: "y", type: "quantitative", title: "speedup over eager (0: not correct)", axis: { tickCount: 7 } }, color: { field: "how", type: "nominal", title: null, scale: { range: series.slice(1) }, legend: { orient: "top" } }, size: { condition: { test: "datum.line", value: 120 }, value: 34 }, opacity: { condition: { test: "datum.good", value: 1 }, value: 0.4 }, tooltip: [{ field: "id" }, { field: "evaluation" }, { field: "generation" }, { field: "island" }, { field: "how", title: "made by" }, { field: "text", title: "speedup" }] } },
    ] }), { onclick: go, canvas: nodes.length > 800 });
  }
  function archive() {
    if (!$("archive")) return;
    const values = data.archive.map((cell) => ({ ...cell, text: u.ratio(cell.speedup) }));
    const base = { x: { field: "x", type: "ordinal", title: data.axes[0], axis: { labelAngle: 0 } }, y: { field: "y", type: "ordinal", title: data.axes[1] || "", sort: "descending" } };
    const dark = document.documentElement.classList.contains("dark");
    popcorn.chart($("archive"), ({ css }) => ({ width: { step: 74 }, height: { step: 46 }, data: { values }, layer: [
      { mark: { type: "rect", cornerRadius: 4 }, encoding: { ...base, color: { field: "speedup", type: "quantitative", legend: null, scale: { range: dark ? ["#2b2a25", "#b4671c"] : ["#f6efe4", "#dd8f3d"] } }, tooltip: [{ field: "id", title: "held by" }, { field: "text", title: "speedup" }, { field: "tried", title: "candidates" }] } },
      { mark: { type: "text", fontSize: 12 }, encoding: { ...base, text: { field: "text" }, color: { value: css("--text") } } },
    ] }));
  }
  popcorn.table($("candidates"), {
    label: "candidates", rows: data.nodes, sort: { key: "speedup", down: true }, filters: [["operator", "made by"], ["island", "island"], ["outcome", "outcome"]],
    columns: [{ key: "id", label: "candidate", link: "link" }, { key: "evaluation", label: "evaluation", kind: "count" }, { key: "generation", label: "generation", kind: "count" }, { key: "operator", label: "made by" }, { key: "outcome", label: "outcome", kind: "outcome" }, { key: "speedup", label: "speedup", kind: "ratio" }, { key: "prompt", label: "prompt" }],
  });
  document.querySelector("#against [data-x=cost_usd]").hidden = !data.curve.some((row) => row.cost_usd > 0); // what cost nothing has no such curve
  curve("evaluation");
  lineage();
  archive();
})();
