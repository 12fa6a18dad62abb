// The figures, each loaded when it comes near the window.
"use strict";
(() => {
  const width = Math.min(document.querySelector("main").clientWidth, 1150);
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    seen.unobserve(entry.target);
    const element = entry.target;
    popcorn.load(`figure-${element.dataset.figure}`, element.dataset.src).then((spec) => popcorn.chart(element, () => fitted(shaded(spec)), {
      neutral: true,
      onclick: (datum) => datum.run && location.assign(`runs/${datum.run}.html`),
    }));
  }), { rootMargin: "400px" });
  document.querySelectorAll("[data-figure]").forEach((element) => seen.observe(element));
  // how attempts ended is told by colours for paper, of which some are too dark for a dark page
  const DARK = { correct: "--series-3", wrong: "--series-6", cheat: "--cheat-plain", compile_fail: "--series-1", timeout: "--series-5", error: "--series-4", infrastructure: "--series-7", missing: "--line-strong" };
  function shaded(spec) {
    const colour = spec.encoding && spec.encoding.color;
    if (!colour || colour.field !== "mode" || !document.documentElement.classList.contains("dark")) return spec;
    const { css } = popcorn.chart;
    return { ...spec, mark: { ...spec.mark, stroke: css("--ground") }, encoding: { ...spec.encoding, color: { ...colour, scale: { ...colour.scale, range: colour.scale.domain.map((mode) => css(DARK[mode])) } } } };
  }
  // the specification is for paper; on a narrow page panels and legends stand under each other
  function fitted(spec) {
    if (width >= 560) return { ...spec, config: {} };
    const soft = popcorn.chart.css("--soft"), most = (given) => Math.min(given, width - 75);
    const made = { ...spec, config: { own: { legend: { orient: "bottom", columns: 2, layout: { bottom: { direction: "vertical", anchor: "start" } }, labelColor: popcorn.chart.css("--text"), titleColor: soft, symbolFillColor: soft, symbolStrokeColor: "transparent" } } } };
    if (made.columns) return { ...made, columns: 1, spec: { ...made.spec, width: most(made.spec.width) } };
    if (made.facet && made.facet.column) return { ...made, facet: { row: { ...made.facet.column, header: { orient: "top" } } }, spec: { ...made.spec, width: most(made.spec.width) } };
    if (typeof made.width === "number") made.width = most(made.width) - (made.encoding && made.encoding.row ? 75 : 0);
    return made;
  }
})();
