// Follow a fill on this machine: server-sent events on 127.0.0.1, one record an event. The port is remembered. See docs/site.md.
"use strict";
popcorn.live = (() => {
  const { make } = popcorn;
  const KEY = "popcorn-live-port";
  const WORDS = { off: "not connected", connecting: "connecting …", connected: "connected", waiting: "waiting for rows", refused: "no fill on this port", done: "the fill has ended", lost: "connection lost" };
  const AGAIN_S = [1, 2, 5, 10, 15];  // seconds between tries after a loss; the last one for ever, until somebody disconnects

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
    let seen = new Set();
    let tries = 0;
    let timer = 0;
    const dot = make("span", { class: "dot", "aria-hidden": "true" });
    const said = make("span", { role: "status" }, WORDS.off);
    const port = make("input", { type: "number", min: "1", max: "65535", value: String(remembered() || 8765), "aria-label": "Port of the fill" });
    const button = make("button", { type: "button", class: "copy", onclick: () => (source || timer ? close("off") : start()) }, "Follow a fill");
    holder.replaceChildren(dot, said, port, button);

    function state(name, more = "") {
      holder.dataset.state = { waiting: "connected", lost: "connecting" }[name] || name;
      said.textContent = `${WORDS[name]}${more}`;
      const busy = Boolean(source || timer);
      button.textContent = busy ? "Disconnect" : "Follow a fill";
      port.disabled = busy;
    }
    function close(name) {
      if (source) source.close();
      clearTimeout(timer);
      source = null;
      timer = 0;
      state(name, name === "done" ? `: ${seen.size} rows` : "");
    }
    // Lost, not ended: only the fill's own `done` says that it ended. A fill sends again what it sent before; a row counts once.
    function lose() {
      source.close();
      source = null;
      const wait = AGAIN_S[Math.min(tries, AGAIN_S.length - 1)];
      tries += 1;
      timer = setTimeout(() => { timer = 0; connect(true); }, wait * 1000);
      state("lost", ` after ${seen.size} rows; trying again in ${wait} s`);
    }
    function start() {
      seen = new Set();
      tries = 0;
      connect(false);
    }
    function connect(again) {
      const number = Number(port.value);
      if (!(number >= 1 && number <= 65535)) { said.textContent = "a port is a number from 1 to 65535"; return; }
      let opened = again;
      source = new EventSource(`http://127.0.0.1:${number}/events`);
      state("connecting");
      source.onopen = () => { opened = true; tries = 0; remember(number); state("waiting"); };
      source.onerror = () => (opened ? lose() : close("refused"));
      source.addEventListener("record", (event) => {
        try {
          const row = rowOf(JSON.parse(event.data));
          seen.add(row.id);
          onrow(row);
          state("connected", `: ${seen.size} rows`);
        } catch (error) {
          said.textContent = `a row could not be read: ${error.message}`;
        }
      });
      source.addEventListener("done", () => close("done"));
    }
    state("off");
    if (remembered()) start();
  };
})();
