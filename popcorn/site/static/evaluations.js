// The list of all evaluations; older pieces are loaded when asked for.
"use strict";
(async () => {
  const holder = document.getElementById("evaluations");
  if (!holder) return;
  const pieces = Number(holder.dataset.pieces);
  let next = 1;
  const rows = popcorn.rowsOf(await popcorn.load("evaluations-0"));
  popcorn.table(holder, {
    label: "evaluations", columns: popcorn.table.EVALUATIONS, rows, sort: { key: "made", down: true },
    filters: [["outcome", "outcome"], ["language", "language"], ["device", "device"], ["judgement", "judgement"], ["store", "store"]],
    more: pieces > 1 ? async (done) => {
      const found = popcorn.rowsOf(await popcorn.load(`evaluations-${next}`, `${popcorn.root}data/evaluations-${next}.js`));
      next += 1;
      if (next >= pieces) done();
      return found;
    } : null,
  });
})();
