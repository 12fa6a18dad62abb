// A table of rows: sorted by a click on a heading, filtered by words and by chosen values, a hundred rows at a time. Unknown sorts last.
"use strict";
popcorn.table = (() => {
  const { make } = popcorn;
  const u = popcorn.units;
  const STEP = 100;
  const OUTCOMES = { wrong_shape: "wrong shape", wrong_dtype: "wrong element type", wrong_values: "wrong values", nonfinite: "NaN or infinite", not_deterministic: "not deterministic", mutated_inputs: "changed its inputs", compile_error: "does not compile", runtime_error: "failed while running", out_of_memory: "out of memory", crash: "crashed", rejected: "does not accept this case", invalid_reference: "invalid problem", harness_error: "not judged (our fault)", compile_fail: "does not compile", infrastructure: "lost to the machine" };
  const GROUPS = { correct: "correct", compile_error: "compile_fail", compile_fail: "compile_fail", timeout: "timeout", "at work": "timeout" };
  const WRONG = new Set(["wrong_shape", "wrong_dtype", "wrong_values", "nonfinite", "not_deterministic", "mutated_inputs", "cheated", "wrong", "cheat", "condemned"]);
  const MARKS = { correct: "✓", wrong: "✕", compile_fail: "⚠", timeout: "◷", error: "!" };

  const groupOf = (name) => (WRONG.has(name) ? "wrong" : GROUPS[name] || "error");
  const outcomeWord = (name) => (name === null || name === undefined ? "nothing submitted" : OUTCOMES[name] || name.replaceAll("_", " "));
  function outcome(name, judgement) {
    const shown = judgement === "condemned" ? "condemned" : name;
    const made = make("span", { class: `outcome ${groupOf(shown)}` }, make("span", { "aria-hidden": "true" }, MARKS[groupOf(shown)]), ` ${outcomeWord(shown)}`);
    return judgement === "suspected" ? [made, " ", make("span", { class: "tag warn" }, "suspected")] : [made];
  }

  // How each kind of column is shown.
  const KINDS = {
    right: (value) => [value],
    text: (value) => [value ?? u.UNKNOWN],
    count: (value) => [u.count(value)],
    time: (value) => [u.time(value)],
    long: (value) => [u.longTime(value)],
    ratio: (value, row, column) => {
      const low = column.low && row[column.low];
      const made = [u.ratio(value)];
      if (typeof low === "number" && typeof value === "number") made.push(make("small", {}, u.between(u.ratio(low), u.ratio(row[column.high]))));
      if ("fit" in row && row.fit !== true && typeof value === "number" && column.low && column.controlled !== false) made.push(make("small", { title: row.fit === false ? "The controls of its own run failed: the machine was busy or throttled" : "It was measured without the controls that would show a busy machine" }, row.fit === false ? "unproven" : "no controls"));
      return made;
    },
    percent: (value) => [u.percent(value)],
    bytes: (value) => [u.bytes(value)],
    money: (value) => [u.money(value)],
    date: (value) => (value ? [String(value).slice(0, 10), make("small", {}, String(value).slice(11, 16))] : [u.UNKNOWN]),
    outcome: (value, row) => outcome(value, row.judgement),
    passed: (value, row) => (typeof value === "number" ? [u.percent(value), make("small", {}, `k = ${row.repeats}`)] : [u.UNKNOWN]),
    share: (value, row, column) => [u.percent(value), make("small", {}, `${row[column.of]} of ${row[column.out]}`)],
  };
  const RIGHT = new Set(["right", "count", "time", "long", "ratio", "percent", "bytes", "money", "share", "passed"]);

  function compare(a, b) {
    const none = (value) => value === null || value === undefined || value === "";
    if (none(a) || none(b)) return none(a) - none(b);
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  }

  // options: columns [{key, label, kind, link, low, high, first}], rows, filters [key…], sort {key, down}, more() → Promise of more rows
  table.word = outcomeWord;
  return table;
  function table(holder, options) {
    const state = { rows: options.rows, words: "", chosen: {}, sort: options.sort || null, shown: STEP, more: options.more || null };
    // a text that every row shares is said once below the table
    const shared = () => options.columns.filter((column) => column.fold && state.rows.length > 1 && state.rows.every((row) => (row[column.key] ?? null) === (state.rows[0][column.key] ?? null)));
    let folded = new Set();
    const heads = options.columns.map((column) => {
      // the whole cell sorts; the button within is for the keyboard, and its click arrives here, too
      const button = make("button", { type: "button" }, column.label);
      return make("th", { scope: "col", class: RIGHT.has(column.kind) ? "r" : false, title: column.title, onclick: () => sortBy(column) }, button);
    });
    const body = make("tbody");
    const foot = make("div", { class: "foot" });
    const controls = make("div", { class: "controls" });
    const said = make("span", { role: "status" });
    if (options.search !== false) controls.append(make("label", {}, make("input", { type: "search", placeholder: "Filter by any word", "aria-label": "Filter", oninput: (event) => { state.words = event.target.value.toLowerCase(); state.shown = STEP; draw(); } })));
    const filterBox = make("span", { class: "controls", style: "margin:0" });
    controls.append(filterBox);
    holder.replaceChildren(controls, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label || "table" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body)), foot);

    function filters() {
      filterBox.replaceChildren(...(options.filters || []).map(([key, label]) => {
        const values = [...new Set(state.rows.map((row) => row[key]).filter((value) => value !== null && value !== undefined))].sort(compare);
        return values.length > 1 ? popcorn.select(label, [["", "all"], ...values.slice(0, 300).map((value) => [String(value), key === "outcome" ? outcomeWord(value) : String(value)])], state.chosen[key] || "", (value) => { state.chosen[key] = value; state.shown = STEP; draw(); }) : null;
      }).filter(Boolean));
    }
    function sortBy(column) {
      const same = state.sort && state.sort.key === column.key;
      state.sort = { key: column.key, down: same ? !state.sort.down : column.first === "down" || (column.first !== "up" && RIGHT.has(column.kind)) };
      draw();
    }
    const texts = new WeakMap();
    function textOf(row) {
      if (!texts.has(row)) texts.set(row, options.columns.map((column) => `${row[column.key] ?? ""} ${column.kind === "outcome" ? outcomeWord(row[column.key]) : ""}`).join(" ").toLowerCase());
      return texts.get(row);
    }
    function selected() {
      const words = state.words.split(/\s+/).filter(Boolean);
      let rows = state.rows.filter((row) => Object.entries(state.chosen).every(([key, value]) => !value || String(row[key]) === value) && words.every((word) => textOf(row).includes(word)));
      if (state.sort) {
        const { key, down } = state.sort;
        const none = (value) => value === null || value === undefined || value === "";
        rows = [...rows].sort((a, b) => (none(a[key]) || none(b[key]) ? compare(a[key], b[key]) : (down ? -1 : 1) * compare(a[key], b[key])));
      }
      return rows;
    }
    function draw() {
      const rows = selected();
      const alike = shared();
      folded = new Set([...alike, ...options.columns.filter((column) => column.optional && state.rows.every((row) => (row[column.key] ?? null) === null))].map((column) => column.key));
      heads.forEach((head, place) => { head.hidden = folded.has(options.columns[place].key); });
      heads.forEach((head, place) => head.setAttribute("aria-sort", state.sort && state.sort.key === options.columns[place].key ? (state.sort.down ? "descending" : "ascending") : "none"));
      body.replaceChildren(...rows.slice(0, state.shown).map((row) => make("tr", { class: row.live ? "live" : false, "data-id": row.id }, ...options.columns.filter((column) => !folded.has(column.key)).map((column) => cell(row, column)))));
      said.textContent = `${Math.min(state.shown, rows.length).toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")}${rows.length < state.rows.length ? ` (filtered from ${state.rows.length.toLocaleString("en-US")})` : ""}`;
      foot.replaceChildren(said, ...(alike.length ? [make("span", {}, `all: ${alike.map((column) => `${column.label} ${state.rows[0][column.key] ?? u.UNKNOWN}`).join(", ")}`)] : []),
        ...(rows.length > state.shown ? [make("button", { type: "button", class: "copy", onclick: () => { state.shown += STEP; draw(); } }, "Show more")] : []),
        ...(state.more ? [make("button", { type: "button", class: "copy", onclick: async () => { state.rows = state.rows.concat(await state.more(() => { state.more = null; })); filters(); draw(); } }, "Load older ones")] : []));
      if (options.onrows) options.onrows(rows);
    }
    function cell(row, column) {
      const shown = KINDS[column.kind || "text"](row[column.key], row, column);
      const target = column.link && row[column.link];
      return make("td", { class: [RIGHT.has(column.kind) ? "r" : "", column.wrap ? "wrap" : "", column.name ? "name" : ""].join(" ").trim() || false, title: target || column.name ? String(row[column.key] ?? "") : false }, ...(target ? [make("a", { href: popcorn.root + target }, ...shown)] : shown));
    }
    filters();
    draw();
    return { set(rows) { state.rows = rows; filters(); draw(); }, draw };
  }
})();
popcorn.table.EVALUATIONS = [
  { key: "name", label: "kernel", link: "link" }, { key: "outcome", label: "outcome", kind: "outcome" },
  { key: "speedup", label: "speedup", title: "over eager mode", kind: "ratio", low: "speedup_low", high: "speedup_high" }, { key: "speedup_compiled", label: "over compile", title: "speedup over torch.compile", kind: "ratio", low: "speedup_compiled_low", high: "speedup_compiled_high", controlled: false, optional: true },
  { key: "time_s", label: "runtime", kind: "time", first: "up" }, { key: "sol", label: "SOL", kind: "percent", title: "Speed of light: how near the call comes to the least time that this machine allows" }, { key: "problem", label: "problem", name: true }, { key: "energy_ratio", label: "energy", kind: "ratio", first: "up", optional: true },
  { key: "language", label: "language", fold: true }, { key: "case_id", label: "case", fold: true, wrap: true }, { key: "device", label: "device", fold: true, wrap: true }, { key: "made", label: "made", title: "UTC", kind: "date", first: "down" },
];
