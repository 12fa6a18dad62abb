// One problem: every evaluation of it, and how speedups spread over time.
"use strict";
(() => {
  const rows = popcorn.rowsOf(popcorn.embedded("rows"));
  popcorn.table(document.getElementById("evaluations"), {
    label: "evaluations", rows, columns: popcorn.table.EVALUATIONS.filter((column) => column.key !== "problem"), sort: { key: "made", down: true },
    filters: [["outcome", "outcome"], ["language", "language"], ["device", "device"], ["store", "store"]],
  });
  const u = popcorn.units;
  const good = rows.filter((row) => row.outcome === "correct" && row.judgement !== "condemned" && typeof row.speedup === "number")
    .map((row) => ({ ...row, kernel: row.name || row.id, text: `${u.ratio(row.speedup)} ${u.between(u.ratio(row.speedup_low), u.ratio(row.speedup_high))}` }));
  if (good.length < 2) { document.getElementById("spread").remove(); return; }
  // days and times of the world's clock, as in the table
  const clock = { milliseconds: "%H:%M:%S", seconds: "%H:%M:%S", minutes: "%H:%M", hours: "%H:%M", day: "%b %d", date: "%b %d", week: "%b %d", month: "%b %Y", quarter: "%b %Y", year: "%Y" };
  popcorn.chart(document.getElementById("spread"), ({ css, series }) => ({
    width: "container", height: 220, data: { values: good },
    layer: [
      { data: { values: [{ one: 1 }] }, mark: { type: "rule", strokeDash: [4, 4] }, encoding: { y: { field: "one", type: "quantitative" }, color: { value: css("--soft") } } },
      { mark: { type: "rule", strokeWidth: 1.5, opacity: 0.5 }, encoding: { x: { field: "made", type: "temporal", scale: { type: "utc" } }, y: { field: "speedup_low", type: "quantitative" }, y2: { field: "speedup_high" }, color: { field: "language", type: "nominal", legend: null } } },
      { mark: { type: "point", filled: true, size: 70, opacity: 0.9, cursor: "pointer" }, encoding: { x: { field: "made", type: "temporal", title: "made (UTC)", scale: { type: "utc", padding: 16 }, axis: { format: clock, tickCount: 7, labelOverlap: true } }, y: { field: "speedup", type: "quantitative", title: "speedup over eager", scale: { type: "log", nice: false, padding: 14 }, axis: { format: "~g", tickCount: 5 } }, color: { field: "language", type: "nominal", title: null, scale: { range: series } }, tooltip: [{ field: "kernel" }, { field: "text", title: "speedup" }, { field: "language" }, { field: "device" }] } },
    ],
  }), { onclick: (datum) => datum.link && location.assign(popcorn.root + datum.link) });
})();
