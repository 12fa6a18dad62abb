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
      legend: { labelColor: text, titleColor: soft, titleFontWeight: "normal", labelFontSize: 12, titleFontSize: 12, symbolStrokeWidth: 2, ...(neutral ? { symbolFillColor: soft, symbolStrokeColor: soft } : {}), labelLimit: 260 },
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

  const KINDS = {
    times(rows) {
      const values = rows.map(({ raw, ...row }) => row);
      const samples = rows.flatMap((row) => row.raw.map((t) => ({ side: row.side, t })));
      const scale = values.length && Math.max(...values.map((v) => v.high)) < 1e-3 ? [1e6, "µs"] : Math.max(...values.map((v) => v.high)) < 1 ? [1e3, "ms"] : [1, "s"];
      const [factor, unit] = scale;
      const near = Math.min(...values.map((v) => v.low)) > 0.6 * Math.max(...values.map((v) => v.high));
      const y = { field: "side", type: "nominal", sort: rows.map((row) => row.side), title: null, axis: { labelFontSize: 13, ticks: false, domain: false, labelPadding: 12 } };
      const x = (field) => ({ field, type: "quantitative", title: `time of a call (${unit})`, scale: { zero: !near, nice: true }, axis: { tickCount: 8, labelOverlap: true } });
      const tooltip = [{ field: "side", title: "side" }, { field: "text", title: "median" }, { field: "span", title: "95 % interval" }];
      const u = popcorn.units;
      const clip = Math.max(...values.map((v) => v.high), ...rows.map((row) => [...row.raw].sort((a, b) => a - b)[Math.floor(row.raw.length * 0.95)] || 0)) * 1.05;
      return ({ css, series }) => ({
        width: "container", height: Math.max(1, rows.length) * 42, data: { values: values.map((v) => ({ ...v, time: v.time_s * factor, lo: v.low * factor, hi: v.high * factor, text: u.time(v.time_s), span: u.between(u.time(v.low), u.time(v.high)) })) },
        encoding: { y },
        layer: [
          { data: { values: samples.filter((s) => s.t <= clip).map((s) => ({ ...s, time: s.t * factor })) }, mark: { type: "tick", thickness: 1.5, opacity: 0.22, height: 22 }, encoding: { y, x: x("time"), color: { value: css("--soft") } } },
          { mark: { type: "rule", strokeWidth: 3 }, encoding: { x: x("lo"), x2: { field: "hi" }, color: { condition: { test: "datum.side === 'this kernel'", value: series[0] }, value: css("--soft") } } },
          { mark: { type: "point", filled: true, size: 110, opacity: 1 }, encoding: { x: x("time"), tooltip, color: { condition: { test: "datum.side === 'this kernel'", value: series[0] }, value: css("--soft") } } },
          { mark: { type: "text", dy: -15, fontSize: 12, fontWeight: 600 }, encoding: { x: x("time"), text: { field: "text" }, color: { value: css("--text") } } },
        ],
      });
    },
    timeline(rows) {
      return ({ css, series }) => ({
        width: "container", height: 150, data: { values: rows },
        mark: { type: "bar", cursor: "pointer" },
        encoding: {
          x: { field: "turn", type: "ordinal", title: "turn", axis: { labelOverlap: true, labelAngle: 0, values: undefined } },
          y: { field: "s", type: "quantitative", title: "seconds", stack: "zero" },
          color: { field: "part", title: null, sort: ["model", "tools", "queue", "other"], scale: { domain: ["model", "tools", "queue", "other"], range: [series[0], series[1], series[4], css("--line-strong")] }, legend: { orient: "top" } },
          tooltip: [{ field: "turn", title: "turn" }, { field: "part", title: "waiting for" }, { field: "s", title: "seconds", format: ",.3~f" }],
        },
      });
    },
  };
  function start() {
    document.querySelectorAll("[data-chart]").forEach((element) => {
      const rows = popcorn.embedded(element.dataset.from);
      const onclick = element.dataset.chart === "timeline" ? (datum) => popcorn.openTurn && popcorn.openTurn(datum.turn) : null;
      chart(element, KINDS[element.dataset.chart](rows), { onclick });
    });
  }
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
  chart.css = css;
  chart.series = series;
  return chart;
})();
