// The figures, each loaded when it comes near the window.
"use strict";
(() => {
  const width = Math.min(document.querySelector("main").clientWidth, 1150);
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    seen.unobserve(entry.target);
    const element = entry.target;
    popcorn.load(`figure-${element.dataset.figure}`, element.dataset.src).then((spec) => popcorn.chart(element, fitted(spec), {
      neutral: true,
      onclick: (datum) => datum.run && location.assign(`runs/${datum.run}.html`),
    }));
  }), { rootMargin: "400px" });
  document.querySelectorAll("[data-figure]").forEach((element) => seen.observe(element));
  // the specification is for paper; on a narrow page panels stand under each other
  function fitted(spec) {
    const made = { ...spec, config: {} };
    if (width < 560 && made.columns) Object.assign(made, { columns: 1, spec: { ...made.spec, width: Math.min(made.spec.width, width - 70) }, config: { own: { legend: { orient: "bottom", columns: 3, labelColor: popcorn.chart.css("--text"), titleColor: popcorn.chart.css("--soft"), symbolFillColor: popcorn.chart.css("--soft"), symbolStrokeColor: popcorn.chart.css("--soft") } } } });
    return made;
  }
})();
