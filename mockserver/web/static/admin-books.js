// Books: the money of the sandbox, order by order, with the charges and journal entries behind each figure.
import { api } from "./admin-api.js";
import { h, clear, say, table, calmly, route, stateClass } from "./admin-dom.js";
import { lesson } from "./admin-lessons.js";

const FIGURES = ["captured", "refunded", "net", "held", "pending", "returned", "transferred"];
const PAGE = 25;

export function books(panel, count) {
  let reference = "";
  let orders = [];
  let next = null;
  const result = h("div", { "data-testid": "books" });
  const input = h("input", {
    type: "search", placeholder: "an order's reference, whole", "aria-label": "Reference of an order", "data-testid": "books-reference",
    onchange: () => { reference = input.value.trim(); later.soon(); }, onsearch: () => { reference = input.value.trim(); later.soon(); },
  });
  const more = h("button", { type: "button", hidden: true, "data-testid": "books-more", onclick: () => read(next) }, "More orders");
  panel.append(h("div", { class: "wide" }, h("h2", {}, "Money, as the service knows it"), h("div", { class: "bar" }, input), result, more));
  const later = calmly(() => read(null), 2000);

  async function read(after) {
    try {
      const asked = new URLSearchParams({ limit: PAGE, ...(reference ? { reference } : {}), ...(after ? { after } : {}) });
      const got = await api("GET", `/__admin/books?${asked}`);
      orders = after ? [...orders, ...got.orders] : got.orders;
      next = got.next;
      more.hidden = !next;
      draw(got);
    } catch (problem) {
      say(problem.message);
    }
  }

  function draw(got) {
    count(Object.keys(got.totals).length ? Object.entries(got.totals).map(([currency, one]) => `${one.net} ${currency}`).slice(0, 1).join() : "");
    const figures = (one) => FIGURES.map((name) => (one[name] ? String(one[name]) : ""));
    const open = new Set([...result.querySelectorAll("details[open]")].map((one) => one.dataset.order));
    clear(result).append(...(orders.length ? [
      table(["Currency", ...FIGURES], Object.entries(got.totals).map(([currency, one]) => [currency, ...figures(one)]), "books-totals"),
      h("h2", {}, reference ? "This order" : "Orders"),
      ...orders.map((one) => order(one, open)),
    ] : reference ? [h("p", { class: "soft" }, "No charge of this sandbox has that reference.")] : lesson("books")),
    got.in_doubt.length ? h("section", { class: "block" }, h("h3", {}, "In doubt: the client never learnt how these ended"), h("ul", { class: "rules" }, got.in_doubt.map((one) => h("li", { "data-testid": "in-doubt" }, one.line)))) : "");
  }

  function order(one, open) {
    const name = one.reference || one.subscription || one.charge;
    const said = FIGURES.filter((figure) => one[figure]).map((figure) => `${figure} ${one[figure]}`).join(", ") || "nothing";
    return h("details", { class: "block", "data-testid": "books-order", "data-order": name, open: open.has(name) || orders.length === 1 },
      h("summary", {}, h("bdi", {}, name), ` ${one.currency}: ${said}`),
      table(["Charge", "State", ...FIGURES, "Journal"], one.charges.map((charge) => [
        h("a", { href: route("objects", "charge", charge.chargeId) }, charge.chargeId.slice(0, 8)), h("span", { class: stateClass(charge.status) }, charge.status),
        ...FIGURES.map((figure) => (charge[figure] ? String(charge[figure]) : "")),
        h("span", {}, charge.journal.flatMap((entry, i) => [i ? ", " : "", h("a", { href: route("requests", entry) }, `#${entry}`)])),
      ]), "books-charges"));
  }

  function open(given) {
    reference = input.value = given.q;
    later.soon();
  }

  return { news: later.soon, open, close: later.stop };
}
