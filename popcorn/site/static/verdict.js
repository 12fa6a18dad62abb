// A verdict's figures: every sample, the blocks in the order taken, and where each side stands under the machine's roof.
"use strict";
(() => {
  const u = popcorn.units;
  const unitOf = (most) => (most < 1e-6 ? [1e9, "ns"] : most < 1e-3 ? [1e6, "µs"] : most < 1 ? [1e3, "ms"] : [1, "s"]);
  // sides keep their colour from figure to figure; shapes tell them apart without it
  const colour = ({ css, series }) => ({ field: "side", type: "nominal", title: null, scale: { domain: ["this kernel", "eager", "torch.compile"], range: [series[0], css("--soft"), series[1]] } });
  const shape = { field: "side", type: "nominal", title: null, scale: { domain: ["this kernel", "eager", "torch.compile"], range: ["circle", "square", "triangle-up"] } };
  const legend = (names) => ({ orient: "top", values: names, symbolSize: 70 });

  popcorn.chart.kinds.times = (rows) => {
    const most = Math.max(...rows.map((row) => row.high)), [factor, unit] = unitOf(most);
    const near = Math.min(...rows.map((row) => row.low)) > 0.6 * most;
    const clip = Math.max(most, ...rows.map((row) => [...row.raw].sort((a, b) => a - b)[Math.floor(row.raw.length * 0.95)] || 0)) * 1.05;
    const samples = rows.flatMap((row) => row.raw.map((t) => ({ side: row.side, t, time: t * factor }))), seen = samples.filter((one) => one.t <= clip);
    const beyond = samples.length - seen.length, title = `time of a call (${unit})${beyond ? `; of ${samples.length} samples ${beyond} slower ${beyond === 1 ? "one lies" : "ones lie"} beyond` : ""}`;
    const y = { field: "side", type: "nominal", sort: rows.map((row) => row.side), title: null, axis: { labelFontSize: 13, ticks: false, domain: false, labelPadding: 12 } };
    const x = (field) => ({ field, type: "quantitative", title, scale: { zero: !near, nice: true }, axis: { tickCount: 8, labelOverlap: true } });
    const tooltip = [{ field: "side", title: "side" }, { field: "text", title: "median" }, { field: "span", title: "95 % interval" }];
    return (look) => ({
      width: "container", height: rows.length * 42, encoding: { y },
      data: { values: rows.map((row) => ({ side: row.side, time: row.time_s * factor, lo: row.low * factor, hi: row.high * factor, text: u.time(row.time_s), span: u.between(u.time(row.low), u.time(row.high)) })) },
      layer: [
        { data: { values: seen }, mark: { type: "tick", thickness: 1.5, opacity: 0.22, height: 22 }, encoding: { y, x: x("time"), color: { value: look.css("--soft") } } },
        { mark: { type: "rule", strokeWidth: 3 }, encoding: { x: x("lo"), x2: { field: "hi" }, color: { ...colour(look), legend: null } } },
        { mark: { type: "point", filled: true, size: 110, opacity: 1 }, encoding: { x: x("time"), tooltip, color: { ...colour(look), legend: null }, shape: { ...shape, legend: null } } },
        { mark: { type: "text", dy: -15, fontSize: 12, fontWeight: 600 }, encoding: { x: x("time"), text: { field: "text" }, color: { value: look.css("--text") } } },
      ],
    });
  };

  // One dot a block, its median; one line a launch, a fresh process. Drift, steps and launches that disagree are seen here before any interval.
  popcorn.chart.kinds.blocks = (all) => {
    const rows = all.filter((row) => row.side !== "torch.compile"); // measured once a problem, in launches of its own
    const [factor, unit] = unitOf(Math.max(...rows.map((row) => row.high)));
    const launches = Math.max(...rows.map((row) => row.blocks.length)), most = Math.max(1, ...rows.flatMap((row) => row.blocks.map((launch) => launch.length)));
    const at = (launch, block) => launch * (most + 1) + block + 1;
    const values = rows.flatMap((row) => row.blocks.flatMap((launch, l) => launch.map((t, b) => ({ side: row.side, launch: l + 1, block: b + 1, at: at(l, b), t: t * factor, text: u.time(t), group: `${row.side} ${l}` }))));
    const centres = Array.from({ length: launches }, (_, l) => at(l, (most - 1) / 2)), walls = Array.from({ length: launches - 1 }, (_, l) => ({ at: at(l, most) }));
    const times = values.map((one) => one.t), far = Math.max(...times) > 4 * Math.min(...times);
    const x = { field: "at", type: "quantitative", title: "launch, a fresh process each, and its blocks in the order taken", scale: { domain: [0, launches * (most + 1)], nice: false }, axis: { values: centres, labelExpr: `round((datum.value - ${(most + 1) / 2}) / ${most + 1}) + 1`, grid: false, ticks: false } };
    const y = { field: "t", type: "quantitative", title: `median of a block (${unit})`, scale: far ? { type: "log", nice: false, padding: 12 } : { zero: false, padding: 12, ...(Math.max(...times) > Math.min(...times) ? {} : { domain: [0, 1.2 * times[0]] }) }, axis: { tickCount: 6, labelOverlap: true } };
    return (look) => ({ width: "container", height: 250, layer: [
      { data: { values: walls }, mark: { type: "rule", strokeDash: [2, 4] }, encoding: { x: { ...x }, color: { value: look.css("--line-strong") } } },
      { data: { values }, mark: { type: "line", strokeWidth: 1.4, opacity: 0.7 }, encoding: { x, y, detail: { field: "group" }, color: { ...colour(look), legend: legend(rows.map((row) => row.side)) } } },
      { data: { values }, mark: { type: "point", filled: true, size: 46, opacity: 1 }, encoding: { x, y, color: { ...colour(look), legend: legend(rows.map((row) => row.side)) }, shape: { ...shape, legend: legend(rows.map((row) => row.side)) }, tooltip: [{ field: "side" }, { field: "launch" }, { field: "block" }, { field: "text", title: "median" }] } },
    ] });
  };

  // All sides do the same work, so that they stand on one line, each as far below the roof as it is slower than the machine allows.
  popcorn.chart.kinds.roof = ({ bandwidth, peak, intensity, source, sides }) => {
    const ridge = peak / bandwidth, span = [Math.min(ridge, intensity) / 6, Math.max(ridge, intensity) * 6], roof = Math.min(peak, bandwidth * intensity);
    const values = sides.map((one) => ({ ...one, x: intensity, y: one.flop_per_s, text: `${one.side}: ${u.percent(one.flop_per_s / roof)}`, rate: u.rate(one.flop_per_s, "FLOP"), time: u.time(one.time_s), share: u.percent(one.flop_per_s / roof) }));
    const low = Math.min(span[0] * bandwidth, ...values.map((one) => one.y)) / 2;
    const x = { field: "x", type: "quantitative", title: "FLOP per byte that must move", scale: { type: "log", domain: span, nice: false }, axis: { format: "~g", tickCount: 5 } };
    const y = { field: "y", type: "quantitative", title: "FLOP/s", scale: { type: "log", domain: [low, peak * 3], nice: false }, axis: { format: "~s", tickCount: 5 } };
    const right = intensity < ridge, middle = span[0] ** 0.3 * ridge ** 0.7;
    // names that would lie on each other are moved apart, the fastest stays
    const height = Math.log(peak * 3 / low), placed = [];
    [...values].sort((a, b) => b.y - a.y).forEach((one) => { const last = placed[placed.length - 1]; const want = Math.log(one.y); const where = last === undefined ? want : Math.min(want, last - 0.075 * height); placed.push(where); one.label = Math.exp(where); });
    return (look) => ({ width: "container", height: 250, layer: [
      { data: { values: [{ x: span[0], y: span[0] * bandwidth }, { x: ridge, y: peak }, { x: span[1], y: peak }] }, mark: { type: "line", strokeWidth: 2.2 }, encoding: { x, y, color: { value: look.css("--text") } } },
      { data: { values: [{ x: intensity, y: low, y2: roof }] }, mark: { type: "rule", strokeDash: [3, 4] }, encoding: { x, y, y2: { field: "y2" }, color: { value: look.css("--soft") } } },
      { data: { values: [{ x: span[1], y: peak, text: `${u.rate(peak, "FLOP")}, ${source}` }] }, mark: { type: "text", align: "right", dy: -9, fontSize: 12 }, encoding: { x, y, text: { field: "text" }, color: { value: look.css("--soft") } } },
      { data: { values: [{ x: middle, y: middle * bandwidth, text: `${u.rate(bandwidth, "B")}, ${source}` }] }, mark: { type: "text", align: "right", dx: -10, dy: -7, fontSize: 12 }, encoding: { x, y, text: { field: "text" }, color: { value: look.css("--soft") } } },
      { data: { values }, mark: { type: "text", align: right ? "left" : "right", dx: right ? 11 : -11, fontSize: 12, fontWeight: 560 }, encoding: { x, y: { ...y, field: "label" }, text: { field: "text" }, color: { value: look.css("--text") } } },
      { data: { values }, mark: { type: "point", filled: true, size: 95, opacity: 1 }, encoding: { x, y, color: { ...colour(look), legend: null }, shape: { ...shape, legend: null }, tooltip: [{ field: "side" }, { field: "rate", title: "achieved" }, { field: "time", title: "time" }, { field: "share", title: "of the roof here" }] } },
    ] });
  };
})();
