// The search of a list: words and operators, each shown as a chip, kept in the address.
import { h, clear } from "./admin-dom.js";

const WORD = /-?(?:[A-Za-z]+:(?!\/\/))?(?:"[^"]*"|\S+)/g;
const PAUSE_MS = 200;

export function search({ testid, label, hint, examples, changed, leave }) {
  let waiting = null;
  let applied = "";
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Parts of the search", "data-testid": `${testid}-chips` });
  const problem = h("p", { class: "wrong", role: "status", "data-testid": `${testid}-problem`, hidden: true });
  const input = h("input", {
    type: "search", placeholder: hint, "aria-label": label, "data-testid": testid, spellcheck: "false", autocomplete: "off",
    oninput: () => { clearTimeout(waiting); waiting = setTimeout(apply, PAUSE_MS); }, onsearch: () => apply(), onkeydown: typed,
  });

  function typed(event) {
    if (event.key === "Escape" && input.value) {
      event.preventDefault();
      event.stopPropagation();
      put("");
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      apply();
      leave();
    }
  }

  function apply() {
    clearTimeout(waiting);
    draw();
    if (input.value.trim() !== applied) changed(applied = input.value.trim());
  }

  function set(value) {
    applied = value;
    if (input.value.trim() !== value) input.value = value;
    draw();
  }

  function put(value) {
    input.value = value;
    apply();
    input.focus();
  }

  function draw() {
    const words = input.value.match(WORD) || [];
    const without = (place) => words.filter((_, i) => i !== place).join(" ");
    clear(chips).append(
      ...words.map((word, i) => h("button", {
        type: "button", class: `chip ${/^-?[A-Za-z]+:/.test(word) ? "operator" : ""}`, "aria-label": `Remove ${word}`, onclick: () => put(without(i)),
      }, h("bdi", {}, word), h("span", { "aria-hidden": "true" }, " ×"))),
      ...examples.filter((one) => !words.includes(one)).slice(0, words.length ? 3 : 6).map((one) => h("button", {
        type: "button", class: "chip offer", "aria-label": `Add ${one}`, onclick: () => put([...words, one].join(" ")),
      }, one)));
  }

  draw();
  return {
    element: h("div", { class: "search" }, input, chips, problem),
    input,
    set,
    put,
    value: () => input.value.trim(),
    problem: (text) => { problem.hidden = !text; problem.textContent = text || ""; input.setAttribute("aria-invalid", String(Boolean(text))); },
    stop: () => clearTimeout(waiting),
  };
}
