// The same text for a quantity as popcorn/units.py gives: three significant digits, the prefix chosen after rounding.
"use strict";
popcorn.units = (() => {
  const UNKNOWN = "—";
  const TIME = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
  const ENERGY = [[1e6, "MJ"], [1e3, "kJ"], [1, "J"], [1e-3, "mJ"], [1e-6, "µJ"]];
  const DECIMAL = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

  const exponentOf = (value) => Number(Math.abs(value).toExponential().split("e")[1]);
  function rounded(value) {
    if (value === 0 || !Number.isFinite(value)) return value;
    return exponentOf(value) < 3 ? Number(value.toExponential(2)) : Math.round(value);
  }
  const written = (value) => value.toExponential(2).replace(/e([+-])(\d)$/, "e$10$2");
  function digits(given) {
    const value = rounded(given);
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 1e-3 || size >= 1e12) return written(value);
    return value.toLocaleString("en-US", { minimumFractionDigits: Math.max(0, 2 - exponentOf(value)), maximumFractionDigits: Math.max(0, 2 - exponentOf(value)) });
  }
  function scaled(value, scale, unit = "") {
    if (value === 0) return `0 ${scale.find(([factor]) => factor === 1)[1]}${unit}`.trimEnd();
    const [factor, prefix] = scale.find(([step]) => Math.abs(rounded(value / step)) >= 1) || scale[scale.length - 1];
    return `${digits(value / factor)} ${prefix}${unit}`.trimEnd();
  }
  const known = (show) => (value, ...rest) => (typeof value === "number" && Number.isFinite(value) ? show(value, ...rest) : UNKNOWN);
  const whole = (value, unit) => (Number.isInteger(value) && Math.abs(value) < 1000 ? `${value} ${unit}`.trimEnd() : scaled(value, DECIMAL, unit));
  const time = known((value) => scaled(value, TIME));
  const longTime = known((value) => {
    if (value < 60) return time(value);
    const minutes = Math.floor(Math.round(value) / 60);
    const rest = String(Math.round(value) % 60).padStart(2, "0");
    return minutes < 60 ? `${minutes} min ${rest} s` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  });
  const ratio = known((value) => `${digits(value)}×`);
  return {
    UNKNOWN, time, longTime, ratio,
    percent: known((value) => `${digits(value * 100)} %`),
    bytes: known((value) => whole(value, "B")),
    rate: known((value, unit) => scaled(value, DECIMAL, `${unit}/s`)),
    energy: known((value) => scaled(value, ENERGY)),
    count: known((value) => value.toLocaleString("en-US")),
    money: known((value) => (Math.abs(value) >= 0.1 || value === 0 ? `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}` : `$${Number(value.toPrecision(3))}`)),
    between: (low, high) => `[${low}, ${high}]`.replaceAll(" ", "\u00a0"),
  };
})();
