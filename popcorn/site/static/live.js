// Follow a fill on this machine: server-sent events on 127.0.0.1, one record an event. The port is remembered. See docs/site.md.
"use strict";
popcorn.live = (() => {
  const { make } = popcorn;
  const KEY = "popcorn-live-port";
  const WORDS = { off: "not connected", connecting: "connecting …", connected: "connected", waiting: "waiting for rows", refused: "no fill on this port", done: "the fill has ended" };

  // The explorer's row of a record, as popcorn/site/live.py makes it of a table's row.
  function rowOf(record) {
    const { subject, case: setting, machine, verdict, measurement: m, provenance } = record;
    const t = m.timing;
    return {
      id: record.id, device: machine.device_id, precision: setting.precision, gradient: setting.gradient, dims: setting.dims, implementation: subject.implementation,
      layout: setting.layout, scalars: JSON.stringify(setting.scalars), version: `torch ${machine.torch || "unknown"} · popcorn ${provenance.harness}`,
      outcome: verdict.outcome, reason: verdict.reason ? verdict.reason.slice(0, 300) : null,
      time_s: t ? t.candidate.time_s : null, low_s: t ? t.candidate.low_s : null, high_s: t ? t.candidate.high_s : null, baseline_time_s: t ? t.baseline.time_s : null,
      speedup: t ? t.speedup.value : null, speedup_low: t ? t.speedup.low : null, speedup_high: t ? t.speedup.high : null, fit: t ? t.control.fit : null,
      peak_bytes: m.memory.peak_bytes, baseline_peak_bytes: m.memory.baseline_peak_bytes, sol: m.roofline.sol, bytes_per_s: m.roofline.bandwidth_bytes_per_s,
      flop_per_s: m.roofline.flop_per_s, peak_bytes_per_s: m.roofline.peak_bandwidth_bytes_per_s, peak_flop_per_s: m.roofline.peak_flop_per_s,
      min_bytes: m.roofline.min_bytes, flops: m.roofline.flops, made: provenance.made, judgement: null, store: "live", live: true, op: subject.problem,
    };
  }

  function remembered() {
    try { return Number(localStorage.getItem(KEY)) || 0; } catch { return 0; }
  }
  function remember(port) {
    try { localStorage.setItem(KEY, String(port)); } catch { /* pages from a disk may have no storage */ }
  }

  // Connects holder's controls to a fill; onrow gets every streamed row. Connects by itself when a port is remembered.
  return function live(holder, onrow) {
    let source = null;
    let rows = 0;
    const dot = make("span", { class: "dot", "aria-hidden": "true" });
    const said = make("span", { role: "status" }, WORDS.off);
    const port = make("input", { type: "number", min: "1", max: "65535", value: String(remembered() || 8765), "aria-label": "Port of the fill" });
    const button = make("button", { type: "button", class: "copy", onclick: () => (source ? close("off") : connect()) }, "Follow a fill");
    holder.replaceChildren(dot, said, port, button);

    function state(name, more = "") {
      holder.dataset.state = name === "waiting" ? "connected" : name;
      said.textContent = `${WORDS[name]}${more}`;
      button.textContent = source ? "Disconnect" : "Follow a fill";
      port.disabled = Boolean(source);
    }
    function close(name) {
      if (source) source.close();
      source = null;
      state(name, name === "done" ? `: ${rows} rows` : "");
    }
    function connect() {
      const number = Number(port.value);
      if (!(number >= 1 && number <= 65535)) { said.textContent = "a port is a number from 1 to 65535"; return; }
      rows = 0;
      source = new EventSource(`http://127.0.0.1:${number}/events`);
      state("connecting");
      source.onopen = () => { remember(number); state("waiting"); };
      source.onerror = () => close(holder.dataset.state === "connected" ? "done" : "refused");
      source.addEventListener("record", (event) => {
        try {
          const row = rowOf(JSON.parse(event.data));
          rows += 1;
          onrow(row);
          state("connected", `: ${rows} rows`);
        } catch (error) {
          said.textContent = `a row could not be read: ${error.message}`;
        }
      });
      source.addEventListener("done", () => close("done"));
    }
    state("off");
    if (remembered()) connect();
  };
})();
