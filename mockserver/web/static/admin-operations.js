// What rules may name, beside the scenario editor: operations, the calls that ask for them, and the members that when and
// key may use there.
import { api } from "./admin-api.js";
import { h, clear } from "./admin-dom.js";

const MOST_OPEN = 3;
const PARTS = { calls: "Calls", request: "Its request", state: "Stored objects", also: "Also", events: "Events" };

export async function operations() {
  const known = (await api("GET", "/__admin/operations")).operations;
  const list = h("ul", { class: "rules", "data-testid": "operation-list" });
  const count = h("p", { class: "soft", role: "status", "data-testid": "operation-count" });
  const input = h("input", { type: "search", placeholder: "refund, request.amount, /token …", "aria-label": "Filter operations and their members", "data-testid": "operation-filter", spellcheck: "false", autocomplete: "off", oninput: draw });
  const text = (one) => [one.op, one.means, ...Object.keys(PARTS).flatMap((part) => one[part])].join("\n").toLowerCase();

  function draw() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = known.filter((one) => words.every((word) => text(one).includes(word)));
    const named = (member) => (words.some((word) => member.toLowerCase().includes(word)) ? h("mark", {}, member) : member);
    count.textContent = `${found.length} of ${known.length} operations`;
    clear(list).append(...found.map((one) => h("li", {}, h("details", { open: found.length <= MOST_OPEN },
      h("summary", {}, h("b", {}, one.op), ` ${one.means}`),
      ...Object.entries(PARTS).filter(([part]) => one[part].length).map(([part, title]) =>
        h("p", {}, h("span", { class: "soft" }, `${title}: `), ...one[part].flatMap((member, i) => [i ? ", " : "", named(member)])))))));
  }

  draw();
  return [input, count, list];
}
