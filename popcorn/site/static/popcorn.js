// What every page needs: data handed over by script files, the theme, copying. Plain scripts, not modules: pages opened from a disk
// (file://) may load scripts, but neither modules nor JSON.
"use strict";
window.popcorn = (() => {
  const delivered = new Map();
  const waiting = new Map();
  const root = window.popcornRoot || "";

  function deliver(name, value) {
    delivered.set(name, value);
    (waiting.get(name) || []).forEach((resolve) => resolve(value));
    waiting.delete(name);
  }

  // The value delivered under a name; loads the script that delivers it where it was not loaded yet.
  function load(name, source) {
    if (delivered.has(name)) return Promise.resolve(delivered.get(name));
    return new Promise((resolve, reject) => {
      const asked = waiting.get(name);
      waiting.set(name, [...(asked || []), resolve]);
      if (asked || !source) return;
      const script = document.createElement("script");
      script.src = source;
      script.onerror = () => reject(new Error(`${source} cannot be loaded`));
      document.head.append(script);
    });
  }

  const embedded = (id) => JSON.parse(document.getElementById(id).textContent);

  // Columns back to rows.
  function rowsOf(columns) {
    const names = Object.keys(columns).filter((name) => name !== "rows");
    const get = names.map((name) => {
      const column = columns[name];
      return Array.isArray(column) ? (i) => column[i] : (i) => (column.at[i] === null ? null : column.of[column.at[i]]);
    });
    return Array.from({ length: columns.rows }, (_, i) => Object.fromEntries(names.map((name, k) => [name, get[k](i)])));
  }

  function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === false || value === null || value === undefined) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  // A group of buttons of which one is pressed.
  function tabs(holder, options, chosen, change) {
    holder.replaceChildren(
      ...options.map(([value, label]) =>
        make("button", { type: "button", "aria-pressed": String(value === chosen), "data-value": value, onclick: (event) => {
          holder.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one === event.currentTarget)));
          change(value);
        } }, label)),
    );
  }

  function select(label, options, chosen, change) {
    const box = make("select", { "aria-label": label, onchange: (event) => change(event.target.value) });
    for (const [value, text] of options) box.append(make("option", { value, selected: value === chosen }, text));
    return make("label", {}, label, box);
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const box = make("textarea", { style: "position:fixed;opacity:0", "aria-hidden": "true" });
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-text]");
    if (button) {
      const from = button.dataset.copyText ?? codeOf(document.getElementById(button.dataset.copy));
      await copy(from);
      button.classList.add("done");
      button.textContent = "Copied";
      setTimeout(() => { button.classList.remove("done"); button.textContent = "Copy"; }, 1600);
    }
    if (event.target.closest("[data-theme]")) {
      const dark = document.documentElement.classList.toggle("dark");
      try { localStorage.setItem("popcorn-theme", dark ? "dark" : "light"); } catch { /* pages from a disk may have no storage */ }
      document.dispatchEvent(new Event("popcorn:theme"));
    }
  });

  // the links of the head scroll sideways on a telephone: where one is, is in sight
  document.addEventListener("DOMContentLoaded", () => {
    const here = document.querySelector(".links [aria-current]");
    if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 24;
  });

  const codeOf = (element) => [...element.querySelectorAll("li")].map((line) => line.textContent.replace(/\n$/, "")).join("\n") + "\n";

  return { deliver, load, embedded, rowsOf, make, tabs, select, copy, root };
})();
