// Two requests with their answers side by side.
import { api } from "./admin-api.js";
import { h, act, table, say } from "./admin-dom.js";

let pinned = null;
let isAsked = false;

/** Keep a request: the next that is opened is compared with it. */
export function pin(id) { pinned = String(id); }

/** Keep it, and ask for the other one until that is chosen. */
export function ask(id) {
  pin(id);
  isAsked = true;
  say(`Choose the request that #${id} is compared with.`, "info");
}

/** The request that one is compared with; nothing where none is kept, or it is the same, or gone. */
export async function compared(id) {
  if (!pinned || pinned === String(id)) return null;
  if (isAsked) say("");
  isAsked = false;
  return api("GET", `/__admin/journal/${pinned}`).catch(() => null);
}

export function comparison(one, other, closed) {
  const [left, right] = [fields(one), fields(other)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const rows = (differs) => names.filter((name) => isOther(name, left.get(name), right.get(name)) === differs).map((name) => [h("code", {}, name), left.get(name) ?? "—", right.get(name) ?? "—"]);
  const shown = (all, testid) => table(["Field", `#${one.id}`, `#${other.id}`], all, testid);
  const [differ, equal] = [rows(true), rows(false)];
  return h("section", { class: "block", "data-testid": "comparison" }, h("h3", {}, `#${one.id} and #${other.id}: ${differ.length} ${differ.length === 1 ? "field differs" : "fields differ"}`),
    differ.length ? h("div", { class: "differs" }, shown(differ, "differing")) : h("p", {}, "They are alike."),
    equal.length ? h("details", {}, h("summary", {}, `${equal.length} are equal, or dates and lengths`), shown(equal, "equal")) : null,
    h("div", { class: "actions" }, act("Stop comparing", () => { pinned = null; say(""); closed(); }, { "data-testid": "compare-stop" })));
}

const DATE = /^\d{4}-\d\d-\d\dT/;

// Lengths and dates differ always, and say nothing.
function isOther(name, one, two) {
  return one !== two && !/\.(content-length|date)$/.test(name) && !(DATE.test(one) && DATE.test(two));
}

// Every value by its dotted path.
function fields({ request, status, answer, fault, decisions }) {
  const found = new Map();
  const walk = (path, value) => {
    if (value !== null && typeof value === "object" && Object.keys(value).length) for (const [name, one] of Object.entries(value)) walk(path ? `${path}.${name}` : name, one);
    else if (value !== null && value !== undefined) found.set(path, typeof value === "object" ? JSON.stringify(value) : String(value));
  };
  walk("", { request, status, answer, fault, rules: decisions.map((one) => one.rule).filter(Boolean).join(", ") || null });
  return found;
}
