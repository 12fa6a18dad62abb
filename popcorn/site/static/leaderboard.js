// The leaderboard: one (variant, level) at a time, its table, its Pareto front, how its problems ended.
"use strict";
(async () => {
  const holder = document.getElementById("standings");
  if (!holder) return;
  const standings = popcorn.embedded("standings-data");
  const runs = popcorn.rowsOf(await popcorn.load("runs"));
  const u = popcorn.units;
  const MODES = { correct: "--series-3", wrong: "--series-6", cheat: "--cheat", compile_fail: "--series-1", timeout: "--series-5", error: "--series-4", infrastructure: "--series-7", missing: "--line-strong" };
  const WORDS = { compile_fail: "does not compile", infrastructure: "lost to the machine" };
  const buttons = [...document.querySelectorAll("[data-group]")];
  const table = popcorn.table(holder, {
    label: "ranks of the models", rows: [], sort: { key: "rank", down: false }, filters: [["tier", "tier"], ["model", "model"]],
    columns: [
      { key: "rank", label: "rank", kind: "count", first: "up" }, { key: "model", label: "model" }, { key: "tier", label: "tier" },
      { key: "pareto", label: "Pareto", kind: "count", title: "Kernels on the front of this level and variant" }, { key: "pareto_problems", label: "by problem", kind: "count", title: "Problems on which no other kernel dominates its own" },
      { key: "correct_rate", label: "correct", kind: "share", of: "correct", out: "planned" }, { key: "pass_at_repeats", label: "pass@k", kind: "passed", optional: true, title: "Chance that one of k answers is correct, unbiased, mean over planned problems; k is the fewest repeats of a problem" }, { key: "fast_1", label: "> 1×", title: "Planned problems with a correct kernel faster than eager, by its whole 95 % interval", kind: "percent" },
      { key: "speedup_median", label: "median", kind: "ratio" }, { key: "geomean_correct", label: "geomean ✓", kind: "ratio", title: "Geometric mean over correct kernels alone" }, { key: "geomean_all", label: "geomean all", kind: "ratio", title: "Geometric mean over all planned problems, a failure counts 1×" },
      { key: "sol_median", label: "SOL", kind: "percent", title: "Speed of light: how near the call comes to the least time that this machine allows" }, { key: "energy_median", label: "energy", kind: "ratio", first: "up", optional: true }, { key: "tokens", label: "tokens", kind: "count" }, { key: "cost_usd", label: "cost", kind: "money" }, { key: "gpu_s", label: "device time", kind: "long", title: "What was answered from the store costs none" },
    ],
  });
  function modes(rows) {
    const present = Object.keys(MODES).filter((mode) => rows.some((row) => row.modes[mode]));
    document.getElementById("modes").replaceChildren(
      ...rows.slice(0, 12).map((row) => popcorn.make("div", { class: "row" }, popcorn.make("span", {}, `${row.model} `, popcorn.make("small", {}, row.tier)), popcorn.make("span", { class: "bar", role: "img", "aria-label": present.map((mode) => `${row.modes[mode]} ${WORDS[mode] || mode}`).join(", "), title: present.map((mode) => `${row.modes[mode]} ${WORDS[mode] || mode}`).join(", ") }, ...present.map((mode) => popcorn.make("span", { style: `width:${(100 * row.modes[mode]) / row.planned}%;background:var(${MODES[mode]})` }))), popcorn.make("span", { title: "correct, of the planned problems" }, `${row.modes.correct} / ${row.planned}`))),
      ...(rows.length > 12 ? [popcorn.make("p", { class: "note" }, `and ${rows.length - 12} more in the table`)] : []),
      popcorn.make("div", { class: "legend" }, ...present.map((mode) => popcorn.make("span", {}, popcorn.make("span", { class: "swatch", style: `background:var(${MODES[mode]})` }), WORDS[mode] || mode))),
    );
  }
  function front(key) {
    const [variant, level] = key.split("/");
    const values = runs.filter((row) => row.variant === variant && row.level === Number(level) && row.mode === "correct" && typeof row.speedup === "number" && typeof row.sol === "number")
      .map((row) => ({ ...row, who: `${row.model} · ${row.tier}`, label: `${row.problem}${row.fit === false ? ", unproven" : ""}`, text: `${u.ratio(row.speedup)} ${u.between(u.ratio(row.speedup_low), u.ratio(row.speedup_high))}${row.fit === false ? ", unproven" : ""}`, light: u.percent(row.sol) }));
    // what is unproven ranks nowhere, and the front is not drawn through it
    // the front in the plane of the chart: with energy among the signals more kernels are optimal than lie on this line
    let best = -Infinity;
    const line = values.filter((row) => row.fit !== false).sort((a, b) => b.sol - a.sol || b.speedup - a.speedup).filter((row) => row.speedup > best && (best = row.speedup));
    const element = document.getElementById("front");
    const x = { field: "sol", type: "quantitative", title: "speed of light", axis: { format: "%", tickCount: 5 }, scale: { domain: [0, 1] } };
    // one or two points must not fill the axis by themselves: it always holds 1× and 2×
    const speeds = values.map((row) => row.speedup), domain = [Math.min(1, ...speeds) / 1.2, Math.max(2, ...speeds) * 1.2], few = values.length <= 12;
    const y = { field: "speedup", type: "quantitative", title: "speedup over eager", scale: { type: "log", nice: false, domain }, axis: { format: "~g", tickCount: 6 } };
    // of labels that would lie on each other the better kernel's stays; at the edges they lean inwards
    const span = Math.log(domain[1] / domain[0]), near = (a, b) => Math.abs(a.sol - b.sol) < 0.3 && Math.abs(Math.log(a.speedup / b.speedup)) < 0.06 * span;
    const labels = [...values].sort((a, b) => b.speedup - a.speedup).reduce((kept, row) => (kept.some((one) => near(one, row)) ? kept : [...kept, row]), []);
    const side = (row) => (row.sol > 0.8 ? "right" : row.sol < 0.2 ? "left" : "center");
    element.hidden = !values.length;
    if (!values.length) return;
    popcorn.chart(element, ({ css, series }) => ({
      width: "container", height: 340, data: { values },
      layer: [
        { data: { values: line }, mark: { type: "line", interpolate: "step-before", strokeWidth: 1.5 }, encoding: { x, y, color: { value: css("--soft") } } },
        { mark: { type: "point", filled: true, cursor: "pointer" }, encoding: { x, y, color: { field: "model", type: "nominal", title: null, scale: { range: series }, legend: { orient: "bottom", columns: Math.max(1, Math.floor(element.clientWidth / 170)) } }, size: { condition: { test: "datum.optimal", value: few ? 160 : 90 }, value: few ? 110 : 36 }, opacity: { condition: { test: "datum.optimal", value: 1 }, value: few ? 0.6 : 0.35 }, tooltip: [{ field: "id", title: "run" }, { field: "who", title: "model" }, { field: "problem", title: "problem" }, { field: "text", title: "speedup" }, { field: "light", title: "SOL" }] } },
        { data: { values: [{ speedup: 1 }] }, mark: { type: "rule", strokeDash: [3, 3] }, encoding: { y, color: { value: css("--soft") } } },
        ...(few ? ["left", "center", "right"].map((align) => ({ data: { values: labels.filter((row) => side(row) === align) }, mark: { type: "text", dy: -14, fontSize: 11, align }, encoding: { x, y, text: { field: "label" }, color: { value: css("--soft") } } })) : []),
      ],
    }), { onclick: (datum) => datum.file && location.assign(datum.file), canvas: values.length > 1500 });
  }
  function show(key) {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.group === key)));
    const rows = standings.filter((row) => row.group === key);
    table.set(rows);
    modes(rows);
    front(key);
  }
  buttons.forEach((button) => button.addEventListener("click", () => show(button.dataset.group)));
  show(buttons[0].dataset.group);
})();
