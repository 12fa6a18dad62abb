// The kernel explorer: curves, slices, a heat map, the roofline, failures and every case of one op.
"use strict";
(async () => {
  const { make, embedded, rowsOf, load, select, tabs } = popcorn;
  const u = popcorn.units;
  const about = embedded("about");
  const $ = (id) => document.getElementById(id);
  const unique = (values) => [...new Set(values)];
  const LEAST = 3;  // values of a size from which rows that differ in it alone are a curve
  const METRICS = {
    time_s: { label: "time", show: u.time, low: "low_s", high: "high_s", log: true, unit: "s" },
    speedup: { label: "speedup over torch", show: u.ratio, low: "speedup_low", high: "speedup_high", log: true },
    bytes_per_s: { label: "GB/s", show: (v) => u.rate(v, "B"), factor: 1e-9, peak: "peak_bytes_per_s" },
    flop_per_s: { label: "TFLOP/s", show: (v) => u.rate(v, "FLOP"), factor: 1e-12, peak: "peak_flop_per_s" },
    peak_bytes: { label: "peak memory", show: u.bytes, log: true, factor: 1e-6, unit: "MB" },
    sol: { label: "speed of light", show: u.percent, factor: 100, unit: "%" },
  };
  const state = { device: "", precision: "", gradient: "", version: "", layout: "contiguous", view: "curves", metric: "time_s", colour: "implementation", curve: "", axis: "", fixed: {}, worst: false };
  const pieces = about.pieces;
  const loaded = new Map();
  const live = [];
  let rows = [];

  const scopes = () => pieces.filter((piece) => (state.colour === "device" || piece.device === state.device) && piece.precision === state.precision && piece.gradient === state.gradient);
  async function gather() {
    const found = await Promise.all(scopes().map(async (piece) => {
      if (!loaded.has(piece.name)) {
        const dims = piece.dims;
        const made = rowsOf(await load(piece.name, `${about.stem}/${piece.name}.js`)).map((row) => ({ ...row, device: piece.device, precision: piece.precision, gradient: piece.gradient, dims: Object.fromEntries(dims.map((dim) => [dim, row[`dim_${dim}`]]).filter(([, size]) => size !== null)) }));
        loaded.set(piece.name, made);
      }
      return loaded.get(piece.name);
    }));
    const streamed = live.filter((row) => (state.colour === "device" || row.device === state.device) && row.precision === state.precision && row.gradient === state.gradient);
    const fresh = new Set(streamed.map((row) => row.id));
    rows = found.flat().filter((row) => !fresh.has(row.id)).concat(streamed);
    if (state.version) rows = rows.filter((row) => row.version === state.version);
    else if (state.colour !== "version") rows = newest(rows);
    rows.forEach((row) => { row.text = u.time(row.time_s); row.case = `${Object.entries(row.dims).map(([k, v]) => `${k}${v}`).join("-")}${row.layout === "contiguous" ? "" : `-${row.layout}`}`; });
  }
  // Of several versions of one question, the newest made.
  function newest(some) {
    const found = new Map();
    for (const row of some) {
      const key = [row.implementation, row.device, row.layout, row.scalars, state.colour === "store" ? row.store : "", ...Object.entries(row.dims).flat()].join("|");
      const known = found.get(key);
      if (!known || String(row.made) > String(known.made) || (row.made === known.made && row.version > known.version)) found.set(key, row);
    }
    return [...found.values()];
  }
  const dims = () => unique(rows.flatMap((row) => Object.keys(row.dims)));
  const good = (row) => row.outcome === "correct" && row.judgement !== "condemned";
  const counted = () => rows.filter((row) => good(row) && row.time_s !== null);

  // Groups of rows that differ in one size alone.
  function curves() {
    const found = new Map();
    for (const axis of dims()) {
      for (const row of counted()) {
        if (row.layout !== "contiguous" || row.dims[axis] === undefined) continue;
        const fixed = Object.entries(row.dims).filter(([name]) => name !== axis);
        const key = `${axis}|${fixed.map(([name, size]) => `${name}=${size}`).join(" ")}|${row.scalars}`;
        if (!found.has(key)) found.set(key, { key, axis, fixed: Object.fromEntries(fixed), scalars: row.scalars, rows: [] });
        found.get(key).rows.push(row);
      }
    }
    return [...found.values()].map((one) => ({ ...one, values: unique(one.rows.map((row) => row.dims[one.axis])) })).filter((one) => one.values.length >= LEAST)
      .sort((a, b) => b.values.length - a.values.length || (a.key < b.key ? -1 : 1));
  }
  function sliced() {
    return counted().filter((row) => row.dims[state.axis] !== undefined && row.layout === state.layout && Object.entries(state.fixed).every(([name, size]) => String(row.dims[name]) === String(size)));
  }

  const groupOf = (row) => (state.colour === "device" ? `${row.implementation} · ${row.device}` : state.colour === "version" ? `${row.implementation} · ${row.version}` : state.colour === "store" ? `${row.implementation} · ${row.store}` : row.implementation);
  // What the reference itself took, as a line of its own.
  function withReference(some) {
    if (state.metric !== "time_s" || some.some((row) => row.implementation === "torch")) return some;
    const seen = new Map();
    some.forEach((row) => row.baseline_time_s && seen.set(`${row.case}|${row.device}`, { ...row, id: `${row.id}-torch`, implementation: "torch (reference)", time_s: row.baseline_time_s, low_s: null, high_s: null, speedup: 1, live: false }));
    return [...some, ...seen.values()];
  }

  // Each row as the charts of curves, slices and few cases show it.
  function shown(some, axis) {
    const metric = METRICS[state.metric];
    const factor = metric.factor || timeFactor(some)[0];
    const unit = metric.unit === "s" ? timeFactor(some)[1] : metric.unit;
    const values = withReference(some).filter((row) => typeof row[state.metric] === "number").map((row) => ({
      id: row.id, x: row.dims[axis], y: row[state.metric] * factor, lo: metric.low && row[metric.low] !== null ? row[metric.low] * factor : null, hi: metric.high && row[metric.high] !== null ? row[metric.high] * factor : null,
      who: groupOf(row), case: row.case, value: metric.show(row[state.metric]), span: metric.low && row[metric.low] !== null ? u.between(metric.show(row[metric.low]), metric.show(row[metric.high])) : u.UNKNOWN,
      speedup: u.ratio(row.speedup), fit: row.fit === false ? "no: claims nothing" : row.fit === true ? "yes" : "not known", live: Boolean(row.live), version: row.version,
    }));
    const colour = ({ series }) => ({ field: "who", type: "nominal", title: null, scale: { range: series }, legend: { orient: "top", columns: 4 } });
    const tooltip = [{ field: "who", title: "implementation" }, { field: "case", title: "case" }, { field: "value", title: metric.label }, { field: "span", title: "95 % interval" }, { field: "speedup", title: "over torch" }, { field: "fit", title: "machine fit" }, { field: "version", title: "versions" }];
    const measure = { type: "quantitative", title: unit ? `${metric.label} (${unit})` : metric.label, scale: metric.log ? { type: "log", nice: false, padding: 14 } : { type: "linear", zero: true }, axis: { format: "~g", tickCount: 6 } };
    return { metric, factor, values, colour, tooltip, measure };
  }
  function lines(some, axis) {
    const { metric, factor, values, colour, tooltip, measure } = shown(some, axis);
    const ceiling = metric.peak ? unique(some.map((row) => row[metric.peak]).filter((v) => typeof v === "number")) : [];
    const many = unique(values.map((v) => v.x)).length > 1;
    const x = { field: "x", type: "quantitative", title: axis, scale: { type: many ? "log" : "linear", nice: false, padding: 14 }, axis: { format: "~s", labelOverlap: true, tickCount: 8 } };
    const y = { field: "y", ...measure };
    draw((theme) => ({
      width: "container", height: 380, data: { values },
      layer: [
        ...(ceiling.length ? [{ data: { values: ceiling.slice(0, 3).map((peak) => ({ peak: peak * factor, text: `ceiling ${metric.show(peak)}` })) }, layer: [{ mark: { type: "rule", strokeDash: [5, 4] }, encoding: { y: { field: "peak", type: "quantitative" }, color: { value: theme.css("--soft") } } }, { mark: { type: "text", align: "left", baseline: "bottom", dx: 4, dy: -3, x: 0 }, encoding: { y: { field: "peak", type: "quantitative" }, text: { field: "text" }, color: { value: theme.css("--soft") } } }] }] : []),
        ...(state.metric === "speedup" ? [{ data: { values: [{ one: 1 }] }, mark: { type: "rule", strokeDash: [5, 4] }, encoding: { y: { field: "one", type: "quantitative" }, color: { value: theme.css("--soft") } } }] : []),
        { mark: { type: "line", strokeWidth: 1.8 }, encoding: { x, y, color: colour(theme) } },
        { transform: [{ filter: "isValid(datum.lo)" }], mark: { type: "rule", strokeWidth: 1.5, opacity: 0.6 }, encoding: { x, y: { ...y, field: "lo" }, y2: { field: "hi" }, color: colour(theme) } },
        { mark: { type: "point", filled: true, opacity: 1 }, encoding: { x, y, color: colour(theme), tooltip, size: { condition: { test: "datum.live", value: 190 }, value: 55 }, stroke: { condition: { test: "datum.live", value: theme.css("--text") }, value: null } } },
      ],
    }), values.length);
  }
  // Too few sizes for a curve: one line a case, every implementation on it.
  function dots(some) {
    const { metric, values, colour, tooltip, measure } = shown(some, null);
    const y = { field: "case", type: "nominal", sort: unique(values.map((one) => one.case)), title: null, axis: { labelLimit: 300, labelFontSize: 12, domain: false, ticks: false } };
    const x = { ...measure, axis: { ...measure.axis, labelOverlap: "greedy", labelSeparation: 8 } };
    draw((theme) => ({
      width: "container", height: 34 * y.sort.length, data: { values },
      layer: [
        ...(metric === METRICS.speedup ? [{ data: { values: [{ one: 1 }] }, mark: { type: "rule", strokeDash: [5, 4] }, encoding: { x: { field: "one", type: "quantitative" }, color: { value: theme.css("--soft") } } }] : []),
        { transform: [{ filter: "isValid(datum.lo)" }], mark: { type: "rule", strokeWidth: 2.5, opacity: 0.55 }, encoding: { y, x: { ...x, field: "lo" }, x2: { field: "hi" }, color: colour(theme) } },
        { mark: { type: "point", filled: true, opacity: 1, size: 90 }, encoding: { y, x: { ...x, field: "y" }, color: colour(theme), tooltip } },
      ],
    }), values.length, false);
  }
  function timeFactor(some) {
    const largest = Math.max(0, ...some.map((row) => row.time_s || 0));
    return state.metric !== "time_s" ? [1, ""] : largest < 1e-6 ? [1e9, "ns"] : largest < 1e-3 ? [1e6, "µs"] : largest < 1 ? [1e3, "ms"] : [1, "s"];
  }

  function heat() {
    const some = rows.filter((row) => row.speedup !== null || row.outcome !== "correct");
    const size = (row) => Object.values(row.dims).reduce((a, b) => a * b, 1);
    const cases = unique([...some].sort((a, b) => size(a) - size(b)).map((row) => row.case)).slice(-120);
    const kept = new Set(cases);
    const values = some.filter((row) => kept.has(row.case)).map((row) => ({ case: row.case, who: groupOf(row), speedup: good(row) ? row.speedup : null, log: good(row) && row.speedup ? Math.max(-3, Math.min(3, Math.log2(row.speedup))) : null, text: good(row) ? u.ratio(row.speedup) : row.outcome.replaceAll("_", " "), reason: row.reason || "" }));
    const base = { x: { field: "who", type: "nominal", title: null, axis: { orient: "top", labelAngle: 0, labelLimit: 160, domain: false, ticks: false } }, y: { field: "case", type: "nominal", sort: cases, title: null, axis: { labelLimit: 260, domain: false, ticks: false } } };
    const dark = document.documentElement.classList.contains("dark");
    draw((theme) => ({
      width: "container", height: Math.max(1, cases.length) * 22, data: { values },
      layer: [
        { mark: { type: "rect", cornerRadius: 3 }, encoding: { ...base, color: { condition: { test: "!isValid(datum.log)", value: theme.css("--line") }, field: "log", type: "quantitative", title: "speedup", scale: { domain: [-3, 0, 3], range: dark ? ["#4a8fb5", "#2b2a25", "#e08a2e"] : ["#2c6e91", "#f3f1ec", "#d9822b"] }, legend: { orient: "bottom", gradientLength: 220, labelExpr: "format(pow(2, datum.value), '~g') + '×'" } }, tooltip: [{ field: "case" }, { field: "who", title: "implementation" }, { field: "text", title: "speedup" }, { field: "reason" }] } },
        { mark: { type: "text", fontSize: 11 }, encoding: { ...base, text: { field: "text" }, color: { value: theme.css("--text") } } },
      ],
    }), values.length);
  }

  function roofline() {
    const some = counted().filter((row) => row.flops && row.min_bytes);
    const values = some.map((row) => ({ x: row.flops / row.min_bytes, y: row.flops / row.time_s, who: groupOf(row), case: row.case, rate: u.rate(row.flops / row.time_s, "FLOP"), bw: u.rate(row.bytes_per_s, "B"), light: u.percent(row.sol), live: Boolean(row.live) }));
    // a roof for each pair of ceilings that rows were held against: devices, and measurements of one device, differ in them
    const peaks = new Map(some.filter((row) => row.peak_bytes_per_s && row.peak_flop_per_s).map((row) => [`${row.peak_bytes_per_s}/${row.peak_flop_per_s}`, row]));
    const ridges = [...peaks.values()].map((row) => row.peak_flop_per_s / row.peak_bytes_per_s);
    const [least, most] = [Math.min(...ridges.map((ridge) => ridge / 64), ...values.map((v) => v.x)), Math.max(...ridges.map((ridge) => ridge * 8), ...values.map((v) => v.x))];
    const roof = [...peaks.values()].flatMap((row, place) => {
      const [ridge, about] = [ridges[place], `${row.device}: ${u.rate(row.peak_bytes_per_s, "B")}, ${u.rate(row.peak_flop_per_s, "FLOP")}`];
      return [[least, least * row.peak_bytes_per_s], [ridge, row.peak_flop_per_s], [most, row.peak_flop_per_s]].map(([x, y]) => ({ x, y, about, roof: String(place) }));
    });
    $("plot").dataset.roofs = String(peaks.size);
    draw((theme) => ({
      width: "container", height: 380, data: { values },
      layer: [
        { data: { values: roof }, mark: { type: "line", strokeDash: [5, 4], tooltip: { content: "data" } }, encoding: { x: { field: "x", type: "quantitative" }, y: { field: "y", type: "quantitative" }, detail: { field: "roof" }, tooltip: [{ field: "about", title: "ceilings" }], color: { value: theme.css("--soft") } } },
        { mark: { type: "point", filled: true, size: 60, opacity: 0.85 }, encoding: { x: { field: "x", type: "quantitative", scale: { type: "log" }, title: "FLOP per byte, as declared", axis: { format: "~g" } }, y: { field: "y", type: "quantitative", scale: { type: "log" }, title: "FLOP/s", axis: { format: "~s" } }, color: { field: "who", type: "nominal", title: null, scale: { range: theme.series }, legend: { orient: "top" } }, tooltip: [{ field: "who", title: "implementation" }, { field: "case" }, { field: "rate", title: "compute" }, { field: "bw", title: "bandwidth" }, { field: "light", title: "SOL" }] } },
      ],
    }), values.length);
  }

  function draw(spec, count, tall = true) {
    $("plot").hidden = !count;
    $("plot").classList.toggle("tall", tall);
    if (count) popcorn.chart($("plot"), spec, { canvas: count > 2500 });
  }
  const CASE_COLUMNS = [
    { key: "implementation", label: "implementation" }, { key: "case", label: "case" }, { key: "outcome", label: "outcome", kind: "outcome" }, { key: "time_s", label: "time", kind: "time", first: "up" },
    { key: "baseline_time_s", label: "torch", kind: "time", first: "up" }, { key: "speedup", label: "speedup", kind: "ratio", low: "speedup_low", high: "speedup_high" }, { key: "sol", label: "SOL", kind: "percent", title: "Speed of light: how near the call comes to the least time that this machine allows" }, { key: "peak_bytes", label: "peak memory", kind: "bytes", first: "up" }, { key: "version", label: "versions", fold: true }, { key: "made", label: "made", kind: "date" },
  ];
  const FAILED = [{ key: "implementation", label: "implementation" }, { key: "case", label: "case" }, { key: "outcome", label: "outcome", kind: "outcome" }, { key: "reason", label: "reason", wrap: true }, { key: "version", label: "versions", fold: true }, { key: "made", label: "made", kind: "date" }];

  function scope() {
    const choices = (key, some) => unique(some.map((piece) => piece[key]));
    const boxes = [];
    const word = (one) => (one === "none" ? "forward" : one === "grad" ? "forward + backward" : one);
    // where there is no choice, what holds for all is said
    const ask = (key, label, options) => boxes.push(options.length > 1 ? select(label, options.map((one) => [one, word(one)]), state[key], (value) => { state[key] = value; settle(); update(); }) : make("span", { class: "note" }, options.length ? `${label} ${word(options[0])}` : ""));
    ask("device", "device", choices("device", pieces));
    ask("precision", "element type", choices("precision", pieces.filter((p) => p.device === state.device)));
    ask("gradient", "pass", choices("gradient", pieces.filter((p) => p.device === state.device && p.precision === state.precision)));
    const versions = unique((loaded.size ? scopes().flatMap((piece) => loaded.get(piece.name) || []) : []).map((row) => row.version));
    if (versions.length > 1) boxes.push(select("versions", [["", "newest of each"], ...versions.map((one) => [one, one])], state.version, (value) => { state.version = value; update(); }));
    $("scope").replaceChildren(...boxes);
  }
  function settings() {
    const boxes = [];
    if (state.view === "curves" || state.view === "slices") {
      boxes.push(select("show", Object.entries(METRICS).map(([key, metric]) => [key, metric.label]), state.metric, (value) => { state.metric = value; view(); }));
      boxes.push(select("colour by", [["implementation", "implementation"], ["device", "device"], ["version", "versions"], ...(unique([...loaded.values()].flat().map((row) => row.store)).length > 1 ? [["store", "store"]] : [])], state.colour, (value) => { state.colour = value; update(); }));
    }
    if (state.view === "curves") {
      const found = curves();
      if (!found.some((one) => one.key === state.curve)) state.curve = found.length ? found[0].key : "";
      if (found.length > 1) boxes.push(select("curve", found.map((one) => [one.key, `${one.axis} varies${Object.keys(one.fixed).length ? `, ${Object.entries(one.fixed).map(([k, v]) => `${k} ${v}`).join(", ")}` : ""} (${one.values.length})`]), state.curve, (value) => { state.curve = value; view(); }));
    }
    if (state.view === "slices") {
      const names = dims();
      if (!names.includes(state.axis)) state.axis = names[0] || "";
      boxes.push(select("vary", names.map((name) => [name, name]), state.axis, (value) => { state.axis = value; state.fixed = {}; view(); }));
      for (const name of names.filter((one) => one !== state.axis)) {
        const options = unique(counted().map((row) => row.dims[name])).sort((a, b) => a - b).map(String);
        if (!options.includes(String(state.fixed[name]))) state.fixed[name] = common(name);
        boxes.push(select(name, options.map((one) => [one, one]), String(state.fixed[name]), (value) => { state.fixed[name] = value; view(); }));
      }
      const layouts = unique(rows.map((row) => row.layout));
      if (layouts.length > 1) boxes.push(select("layout", layouts.map((one) => [one, one]), state.layout, (value) => { state.layout = value; view(); }));
    }
    $("settings").replaceChildren(...boxes);
  }
  function common(name) {
    const counts = new Map();
    counted().forEach((row) => counts.set(row.dims[name], (counts.get(row.dims[name]) || 0) + 1));
    return String([...counts.entries()].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "");
  }
  function command() {
    const scalars = JSON.parse((rows[0] && rows[0].scalars) || "{}");
    const parts = [`dtype=${state.precision}`, ...Object.entries(state.fixed).map(([name, size]) => `${name}=${size}`), ...Object.entries(scalars).map(([name, value]) => `${name}=${value}`)];
    return `popcorn bench fill ${about.op} --live --timeout 300 --slice '${state.axis} ${parts.join(" ")}'`;
  }
  const table = popcorn.table($("cases"), { label: "cases", rows: [], columns: CASE_COLUMNS, filters: [["implementation", "implementation"], ["layout", "layout"], ["outcome", "outcome"]] });
  const failures = (() => { const box = make("div", { class: "table" }); $("cases").after(box); return { box, table: popcorn.table(box, { label: "failures", rows: [], columns: FAILED, filters: [["implementation", "implementation"], ["outcome", "outcome"]] }) }; })();

  const ordered = (some, axis) => [...some].sort((a, b) => a.dims[axis] - b.dims[axis] || (a.implementation < b.implementation ? -1 : 1));

  function view() {
    settings();
    const failed = rows.filter((row) => !good(row));
    const inCurves = new Set(curves().flatMap((one) => one.rows.map((row) => row.id)));
    const coverage = rows.filter((row) => !inCurves.has(row.id));
    $("slice").hidden = state.view !== "slices";
    $("cases").hidden = !["coverage", "curves", "slices"].includes(state.view);
    failures.box.hidden = state.view !== "failures";
    let said = "";
    if (state.view === "curves") {
      const curve = curves().find((one) => one.key === state.curve);
      if (curve) { lines(curve.rows, curve.axis); table.set(ordered(curve.rows, curve.axis)); said = `${curve.rows.length} rows on this curve; error bars are 95 % intervals.`; }
      else { dots(counted()); table.set(rows); said = `No curve here yet: three sizes that differ in one dimension alone make one. ${counted().length ? "Each case has a line of its own until then." : ""}`; }
    } else if (state.view === "slices") {
      const some = sliced();
      lines(some, state.axis);
      table.set(ordered(some, state.axis));
      said = some.length ? `${some.length} rows in this slice.` : "No row in this slice yet.";
      const text = command();
      $("slice-command").replaceChildren(make("span", { class: "command" }, make("code", {}, text), make("button", { type: "button", class: "copy", "data-copy-text": text }, "Copy")));
    } else if (state.view === "heat") { heat(); said = "Speedup over torch of every case; orange is faster, blue is slower, grey has no time."; }
    else if (state.view === "roofline") { roofline(); said = "What was declared as the least work, over the time taken; a dashed line is the ceiling that its rows were held against."; }
    else if (state.view === "coverage") { draw(null, 0); table.set(coverage); said = `${coverage.length} sparse samples: pairs of sizes, layouts and modes, apart from the curves.`; }
    else { draw(null, 0); failures.table.set(failed); said = failed.length ? `${failed.length} of ${rows.length} rows are not correct, each with its reason.` : "Nothing failed here."; }
    $("said").textContent = said;
    tabs($("views"), [["curves", "Curves"], ["slices", "Slices"], ["heat", "Heat map"], ["roofline", "Roofline"], ["coverage", "Coverage"], ["failures", `Failures (${failed.length})`]], state.view, (value) => { state.view = value; view(); });
  }
  function settle() {
    const fit = (piece) => piece.device === state.device && piece.precision === state.precision && piece.gradient === state.gradient;
    if (pieces.some(fit)) return;
    const near = pieces.find((p) => p.device === state.device && p.precision === state.precision) || pieces.find((p) => p.device === state.device) || pieces[0];
    if (near) Object.assign(state, { device: near.device, precision: near.precision, gradient: near.gradient });
  }
  async function update() {
    await gather();
    scope();
    view();
  }
  settle();
  await update();
  let soon = 0;
  popcorn.live($("live"), (row) => {
    if (row.op !== about.op) return;
    const known = live.findIndex((one) => one.id === row.id);
    if (known >= 0) live.splice(known, 1);
    live.push(row);
    if (!pieces.some((p) => p.device === row.device && p.precision === row.precision && p.gradient === row.gradient)) {
      pieces.push({ name: `live-${row.device}-${row.precision}-${row.gradient}`, device: row.device, precision: row.precision, gradient: row.gradient, rows: 0, dims: Object.keys(row.dims) });
      popcorn.deliver(pieces[pieces.length - 1].name, { rows: 0 });
    }
    clearTimeout(soon);
    soon = setTimeout(update, 120);
  });
})();
