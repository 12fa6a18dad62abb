// Turns of a run: those of long runs are loaded when they are opened. Their HTML was escaped when the site was built.
"use strict";
(() => {
  const holder = document.getElementById("turns");
  async function fill(turn) {
    if (!turn.dataset.piece || turn.dataset.filled) return;
    turn.dataset.filled = "yes";
    const body = turn.querySelector(".body");
    body.textContent = "loading …";
    try {
      const piece = await popcorn.load(turn.dataset.piece, `${holder.dataset.stem}/${turn.dataset.piece}.js`);
      body.innerHTML = piece[Number(turn.dataset.place)];
    } catch (error) {
      body.textContent = String(error.message);
      delete turn.dataset.filled;
    }
  }
  holder.addEventListener("toggle", (event) => event.target.open && fill(event.target), true);
  popcorn.openTurn = (index) => {
    const turn = document.getElementById(`turn-${index}`);
    if (!turn) return;
    turn.open = true;
    turn.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  };
  popcorn.chart.kinds.timeline = (rows) => [({ css, series }) => ({
    width: "container", height: 150, data: { values: rows },
    mark: { type: "bar", cursor: "pointer" },
    encoding: {
      x: { field: "turn", type: "ordinal", title: "turn", axis: { labelOverlap: true, labelAngle: 0 } },
      y: { field: "s", type: "quantitative", title: "seconds", stack: "zero" },
      color: { field: "part", title: null, sort: ["model", "tools", "queue", "other"], scale: { domain: ["model", "tools", "queue", "other"], range: [series[0], series[1], series[4], css("--line-strong")] }, legend: { orient: "top" } },
      tooltip: [{ field: "turn", title: "turn" }, { field: "part", title: "waiting for" }, { field: "s", title: "seconds", format: ",.3~f" }],
    },
  }), { onclick: (datum) => popcorn.openTurn(datum.turn) }];
})();
