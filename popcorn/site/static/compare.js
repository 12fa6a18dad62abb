// Compare two models problem by problem, two evaluations figure by figure, or two stores question by question.
"use strict";
(async () => {
  const { make, select, tabs } = popcorn;
  const u = popcorn.units;
  const $ = (id) => document.getElementById(id);
  const data = popcorn.embedded("compare-data");
  const runs = popcorn.rowsOf(await popcorn.load("runs"));
  const evaluations = popcorn.rowsOf(await popcorn.load("evaluations-0"));
  const kinds = [];
  if (data.models.length > 1) kinds.push(["models", "Two models"]);
  if (evaluations.length > 1) kinds.push(["kernels", "Two kernels"]);
  if (data.pairs.length) kinds.push(["stores", "Two stores"]);
  if (!kinds.length) { $("summary").textContent = "There is nothing to compare yet: two evaluations, two models, or two stores that answer the same questions are needed."; $("summary").className = "empty"; $("pair-chart").remove(); return; }
  const state = { kind: kinds[0][0], a: null, b: null };
  const asked = new URLSearchParams(location.search);
  const name = (one) => `${one.model} · ${one.tier}`;
  const choose = (options, start) => {
    if (!options.some(([value]) => value === state.a)) state.a = options[0][0];
    if (!options.some(([value]) => value === state.b)) state.b = (options[start] || options[0])[0];
    $("choice").replaceChildren(select("A", options, state.a, (value) => { state.a = value; show(); }), select("B", options, state.b, (value) => { state.b = value; show(); }));
  };
  const geomean = (values) => (values.length ? Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length) : null);

  function models() {
    const other = data.models.findIndex((one) => one.model !== data.models[0].model && one.tier === data.models[0].tier);
    choose(data.models.map((one) => [name(one), name(one)]), Math.max(1, other));
    const best = (who) => {
      const found = new Map();
      runs.filter((row) => name(row) === who).forEach((row) => { const known = found.get(row.problem); if (!known || (row.mode === "correct" && (known.mode !== "correct" || (row.speedup || 0) > (known.speedup || 0)))) found.set(row.problem, row); });
      return found;
    };
    const [a, b] = [best(state.a), best(state.b)];
    const rows = [...new Set([...a.keys(), ...b.keys()])].sort().map((problem) => {
      const [x, y] = [a.get(problem), b.get(problem)];
      const both = x && y && x.speedup && y.speedup;
      return { id: problem, problem, a_mode: x ? x.mode : "missing", b_mode: y ? y.mode : "missing", a_speedup: x && x.speedup, a_low: x && x.speedup_low, a_high: x && x.speedup_high, b_speedup: y && y.speedup, b_low: y && y.speedup_low, b_high: y && y.speedup_high, ratio: both ? x.speedup / y.speedup : null, a_file: x && x.file, b_file: y && y.file };
    });
    const both = rows.filter((row) => row.ratio);
    const solved = (key) => rows.filter((row) => row[key] === "correct").length;
    $("summary").textContent = `A solves ${solved("a_mode")}, B ${solved("b_mode")} of ${rows.length} problems. ` + (both.length ? `Where both have a time (${both.length}), A is ${u.ratio(geomean(both.map((row) => row.ratio)))} as fast as B in the geometric mean, and faster on ${both.filter((row) => row.ratio > 1).length}.` : "They have no problem in common that both solved with a time.");
    popcorn.table($("pairs"), { label: "problems", rows, sort: { key: "ratio", down: true }, columns: [{ key: "problem", label: "problem" }, { key: "a_mode", label: "A", kind: "outcome", link: "a_file" }, { key: "a_speedup", label: "A, speedup", kind: "ratio", low: "a_low", high: "a_high" }, { key: "b_mode", label: "B", kind: "outcome", link: "b_file" }, { key: "b_speedup", label: "B, speedup", kind: "ratio", low: "b_low", high: "b_high" }, { key: "ratio", label: "A / B", kind: "ratio" }] });
    scatter(both.map((row) => ({ x: row.b_speedup, y: row.a_speedup, problem: row.problem, a: u.ratio(row.a_speedup), b: u.ratio(row.b_speedup) })));
  }
  function scatter(values) {
    $("pair-chart").hidden = values.length < 2;
    if (values.length < 2) return;
    const all = values.flatMap((v) => [v.x, v.y]);
    const span = [Math.min(...all, 1) * 0.85, Math.max(...all, 1) * 1.2];
    const scale = { type: "log", domain: span };
    popcorn.chart($("pair-chart"), ({ css }) => ({ width: "container", height: 320, layer: [
      { data: { values: span.map((v) => ({ x: v, y: v })) }, mark: { type: "line", strokeDash: [4, 4] }, encoding: { x: { field: "x", type: "quantitative", scale, title: "speedup of B", axis: { format: "~g" } }, y: { field: "y", type: "quantitative", scale, title: "speedup of A", axis: { format: "~g" } }, color: { value: css("--soft") } } },
      { data: { values }, mark: { type: "point", filled: true, size: 65, opacity: 0.85 }, encoding: { x: { field: "x", type: "quantitative", scale }, y: { field: "y", type: "quantitative", scale }, tooltip: [{ field: "problem" }, { field: "a", title: "A" }, { field: "b", title: "B" }] } },
    ] }));
  }
  const FIGURES = [["problem", "problem"], ["case_id", "case"], ["device", "device"], ["language", "language"], ["outcome", "outcome", popcorn.table.word], ["speedup", "speedup over eager", (value, row) => (typeof value === "number" ? `${u.ratio(value)} ${u.between(u.ratio(row.speedup_low), u.ratio(row.speedup_high))}` : u.UNKNOWN), "up"], ["speedup_compiled", "speedup over torch.compile", u.ratio, "up"], ["time_s", "runtime", u.time, "down"], ["baseline_time_s", "eager runtime", u.time, "down"], ["sol", "speed of light", u.percent, "up"], ["energy_ratio", "energy / eager", u.ratio, "down"], ["memory_ratio", "memory / eager", u.ratio, "down"], ["made", "made", (value) => String(value).slice(0, 16).replace("T", " ")], ["store", "store"]];
  function kernels() {
    const options = evaluations.slice(0, 2000).map((row) => [row.id, `${row.name || row.id} · ${row.problem.endsWith(".py") ? row.problem.split("/").pop() : row.problem} · ${row.speedup ? u.ratio(row.speedup) : (row.outcome || "").replaceAll("_", " ")}`]);
    // to begin with: the newest two that answer one question
    const question = (row) => [row.problem, row.case_id, row.device].join("|");
    const newest = new Map();
    const second = evaluations.findIndex((row) => typeof row.speedup === "number" && (newest.has(question(row)) || !newest.set(question(row), row.id)));
    if (second > 0 && !state.a && !state.b) state.a = newest.get(question(evaluations[second]));
    choose(options, Math.max(1, second));
    const [a, b] = [state.a, state.b].map((id) => evaluations.find((row) => row.id === id));
    const alike = question(a) === question(b);
    const meet = alike && a.speedup_low && b.speedup_low ? a.speedup_low <= b.speedup_high && b.speedup_low <= a.speedup_high : null;
    const unfit = [["A", a], ["B", b]].filter(([, row]) => row.fit !== true).map(([side]) => side);
    $("summary").textContent = !alike ? "They answer different questions (problem, case or device differ), so their times cannot be compared." : meet === null ? "One of them has no time." : unfit.length ? `No difference can be told: the controls of ${unfit.join(" and ")} failed, or none were taken.` : meet ? "Their intervals meet: no difference that can be told." : `${a.speedup > b.speedup ? "A" : "B"} is faster, each over eager in its own run, beyond both intervals.`;
    const rows = FIGURES.map(([key, label, showing]) => ({ id: key, what: label, a: showing ? showing(a[key], a) : (a[key] ?? u.UNKNOWN), b: showing ? showing(b[key], b) : (b[key] ?? u.UNKNOWN), ratio: alike && typeof a[key] === "number" && typeof b[key] === "number" && b[key] ? u.ratio(a[key] / b[key]) : "" }));
    popcorn.table($("pairs"), { label: "figures", rows, search: false, columns: [{ key: "what", label: "" }, { key: "a", label: "A", wrap: true }, { key: "b", label: "B", wrap: true }, { key: "ratio", label: "A / B", kind: "right" }].map((column) => ({ ...column, label: column.label || "figure" })) });
    $("pair-chart").hidden = true;
    texts(a, b);
  }
  // The two kernels' texts, line by line: what A has and B has not, and the other way round.
  async function texts(a, b) {
    const turn = (texts.turn = Symbol("turn"));
    const [old, fresh] = await Promise.all([a, b].map((row) => popcorn.load(`source-${row.id}`, popcorn.root + row.link.split("#")[0].replace(/\.html$/, ".source.js")).catch(() => "")));
    if (texts.turn !== turn || state.kind !== "kernels") return;
    $("texts").hidden = false;
    const missing = !old || !fresh ? "The text of one of them was not kept." : old === fresh ? "The texts are the same." : "";
    const patch = missing ? null : window.Diff.structuredPatch("A", "B", old, fresh, "", "", { context: 3, timeout: 3000 });
    const lines = (patch ? patch.hunks : []).flatMap((hunk) => [`@ line ${hunk.oldStart} of A, ${hunk.newStart} of B`, ...hunk.lines]);
    const count = (sign) => lines.filter((line) => line[0] === sign).length;
    $("texts-said").textContent = missing || (patch ? `${count("-")} lines of A alone (−), ${count("+")} of B alone (+).` : "The texts differ so much that no comparison of lines was found in three seconds.");
    const KIND = { "+": "plus", "-": "minus", "@": "at" };
    $("texts-diff").hidden = !lines.length;
    $("texts-diff").replaceChildren(...lines.slice(0, 4000).map((line) => make("div", { class: KIND[line[0]] || "same" }, line[0] === "@" ? line.slice(2) : line)));
  }
  function stores() {
    const options = data.pairs.map((pair, place) => [String(place), `${pair.before} → ${pair.after}`]);
    if (!options.some(([value]) => value === state.a)) state.a = options[0][0];
    $("choice").replaceChildren(select("stores", options, state.a, (value) => { state.a = value; show(); }));
    const pair = data.pairs[Number(state.a)];
    const rows = pair.rows.map((row, place) => ({ ...row, id: String(place), sure: row.apart ? "beyond both intervals" : row.ratio === null ? "" : "within them" }));
    const changed = rows.filter((row) => row.before !== row.after).length;
    $("summary").textContent = `${(rows.length + pair.left_out).toLocaleString("en-US")} questions that both answer; ${changed} outcomes changed, ${rows.filter((row) => row.apart && row.ratio > 1).length} slower and ${rows.filter((row) => row.apart && row.ratio < 1).length} faster beyond both intervals.`;
    popcorn.table($("pairs"), { label: "questions", rows, filters: [["sure", "change"], ["problem", "problem"]], columns: [{ key: "problem", label: "problem", link: "link" }, { key: "implementation", label: "implementation" }, { key: "case", label: "case" }, { key: "device", label: "device" }, { key: "before", label: "before", kind: "outcome" }, { key: "after", label: "after", kind: "outcome" }, { key: "before_s", label: "time before", kind: "time" }, { key: "after_s", label: "time after", kind: "time" }, { key: "ratio", label: "after / before", kind: "ratio" }, { key: "sure", label: "change" }] });
    $("pair-chart").hidden = true;
  }
  function show() {
    $("texts").hidden = true;
    ({ models, kernels, stores })[state.kind]();
  }
  if (kinds.some(([value]) => value === asked.get("kind"))) state.kind = asked.get("kind");
  state.a = asked.get("a");
  state.b = asked.get("b");
  if (kinds.length > 1) tabs($("kinds"), kinds, state.kind, (value) => { state.kind = value; state.a = state.b = null; show(); });
  show();
})();
