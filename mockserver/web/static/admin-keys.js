// The keys of the page: each does what a button does; "?" lists them.
import { h } from "./admin-dom.js";

const KEYS = [
  ["?", "this list"], ["/", "search"], ["1 … 9, 0", "the views, in their order"], ["j k or ↓ ↑", "next and previous row"], ["Enter", "go to the details"], ["Escape", "back to the list; close what is open"],
  ["Home End Page↑ Page↓", "move in a list"], ["← →", "move among the tabs"], ["Ctrl + Space", "complete, in the editor"], ["Ctrl + m", "let Tab leave the editor"],
];

export function beginKeys({ views, go, view }) {
  const dialog = h("dialog", { id: "keys", "aria-labelledby": "keys-title", "data-testid": "keys" }, h("h2", { id: "keys-title" }, "Keys"),
    h("dl", {}, KEYS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("button", { class: "primary", "data-testid": "keys-close" }, "Close")));
  document.body.append(dialog);
  const toggle = () => (dialog.open ? dialog.close() : dialog.showModal());
  document.getElementById("help").addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    const at = event.composedPath()[0];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      for (const open of document.querySelectorAll("details.menu[open]")) open.open = false;
      const shown = view();
      if (!dialog.open && shown && shown.list && !(at.matches && at.matches("dialog *"))) {
        document.querySelector(".split.chosen .back")?.click();
        shown.list.element.focus();
      }
      return;
    }
    if (at.matches && at.matches("input, textarea, select, [contenteditable=true]")) return;
    if (event.key === "?") toggle();
    else if (dialog.open) return;
    else if (event.key === "/" && view() && view().search) { event.preventDefault(); view().search.focus(); }
    else if (/^[0-9]$/.test(event.key) && views[(Number(event.key) || 10) - 1]) go(views[(Number(event.key) || 10) - 1]);
    else if (event.key === "Enter" && at.matches && at.matches(".list")) document.querySelector(".right")?.focus();
  });
}
