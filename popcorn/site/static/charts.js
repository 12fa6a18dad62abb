// Charts by Vega-Lite, in the colours of the page; drawn again when the theme changes or the page becomes wider.
"use strict";
popcorn.chart = (() => {
  const drawn = new Map();
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const series = () => [1, 2, 3, 4, 5, 6, 7, 8].map((n) => css(`--series-${n}`));

  // neutral: legends of shapes and dashes, which carry no colour of their own
  function config(neutral) {
    const [text, soft, grid, line] = ["--text", "--soft", "--grid", "--line-strong"].map(css);
    const font = css("--sans");
    return {
      background: "transparent", font, aria: false, padding: { left: 2, right: 18, top: 6, bottom: 2 }, view: { stroke: null },
      range: { category: series(), heatmap: { scheme: "oranges" } },
      axis: { labelColor: soft, titleColor: soft, gridColor: grid, domainColor: line, tickColor: line, titleFontWeight: "normal", labelFontSize: 12, titleFontSize: 12, titlePadding: 10, labelFlush: false, labelFont: font, titleFont: font },
      legend: { labelColor: text, titleColor: soft, titleFontWeight: "normal", labelFontSize: 12, titleFontSize: 12, symbolStrokeWidth: 2, ...(neutral ? { symbolFillColor: soft, symbolStrokeColor: "transparent" } : {}), labelLimit: 260 },
      header: { labelColor: text, titleColor: soft, labelFontSize: 12 }, title: { color: text }, text: { color: text }, rule: { color: soft }, mark: { color: css("--series-1") },
    };
  }

  // spec: an object, or a function of the colours that makes one. onclick gets the datum of a mark.
  async function chart(element, spec, { onclick = null, canvas = false, neutral = false } = {}) {
    drawn.set(element, { spec, onclick, canvas, neutral });
    const given = typeof spec === "function" ? spec({ css, series: series() }) : spec;
    const full = { ...(given.width === "container" ? { autosize: { type: "fit-x", contains: "padding" } } : {}), ...given, config: { ...config(neutral), ...(given.config && given.config.own ? given.config.own : {}) } };
    const turn = (drawn.get(element).turn = Symbol("turn"));
    const result = await window.vegaEmbed(element, full, { actions: false, renderer: canvas ? "canvas" : "svg", logLevel: 1, tooltip: { theme: "custom" }, mode: "vega-lite" });
    const entry = drawn.get(element);
    if (!entry || entry.turn !== turn) { result.finalize(); return null; }
    if (onclick) result.view.addEventListener("click", (_, item) => item && item.datum && onclick(item.datum.datum || item.datum));
    // what the chart says stands in its label and in a table; a reader of a screen is spared hundreds of marks
    element.querySelectorAll("svg, canvas").forEach((one) => one.setAttribute("aria-hidden", "true"));
    if (element.getAttribute("aria-label")) element.setAttribute("role", "img");
    element.dataset.drawn = String(Number(element.dataset.drawn || 0) + 1);
    return result.view;
  }
  document.addEventListener("popcorn:theme", () => drawn.forEach((entry, element) => element.isConnected && chart(element, entry.spec, entry)));

  const KINDS = {};
  function start() {
    document.querySelectorAll("[data-chart]").forEach((element) => {
      const rows = popcorn.embedded(element.dataset.from);
      chart(element, ...[KINDS[element.dataset.chart](rows)].flat());
    });
  }
  document.addEventListener("DOMContentLoaded", start); // after every deferred script, which bring the kinds
  chart.css = css;
  chart.series = series;
  chart.kinds = KINDS; // name of a `data-chart` → rows → the specification, or [it, options]
  return chart;
})();
