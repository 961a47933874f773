// Books: the money of the sandbox, order by order, with the charges and journal entries behind each figure.
import { api } from "./admin-api.js";
import { h, clear, say, calmly, route, stateClass, money } from "./admin-dom.js";
import { lesson } from "./admin-lessons.js";

const FIGURES = ["net", "captured", "refunded", "held", "pending", "returned", "transferred"];
const PAGE = 25;

// What the tab says of the money: net, of two currencies at most.
export function sum(totals) {
  const all = Object.entries(totals).map(([currency, { net }]) => `${currency} ${money(net, currency)}`);
  return all.slice(0, 2).join(", ") + (all.length > 2 ? ", …" : "");
}

function state(word) { return h("span", { class: stateClass(word) }, word); }

export function books(panel, count) {
  let reference = "";
  let orders = [];
  let next = null;
  const open = new Set();
  const result = h("div", { "data-testid": "books" });
  const input = h("input", {
    type: "search", placeholder: "the whole reference of an order", "aria-label": "Reference of an order", "data-testid": "books-reference",
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

  // Figures that are nowhere have no column; the charges of an order stand below it when it is opened.
  function draw(got) {
    count(sum(got.totals));
    if (!orders.length) return void clear(result).append(...(reference ? [h("p", { class: "soft" }, "No charge of this sandbox has that reference.")] : lesson("books")));
    const shown = FIGURES.filter((name) => name === "net" || Object.values(got.totals).some((one) => one[name]));
    const figures = (one, currency) => shown.map((name) => h("td", {}, one[name] || name === "net" ? money(one[name], currency) : ""));
    const order = (one) => {
      const name = one.reference || one.subscription || one.charge;
      const more = h("tbody", { "data-testid": "books-charges", hidden: !(open.has(name) || orders.length === 1) }, one.charges.map((charge) => h("tr", { class: "soft" },
        h("td", {}, h("a", { href: route("objects", "charge", charge.chargeId) }, charge.chargeId.slice(0, 8)), charge.journal.flatMap((entry) => [" ", h("a", { href: route("requests", entry) }, `#${entry}`)])),
        h("td", {}, one.currency), figures(charge, one.currency), h("td", {}, state(charge.status)))));
      const toggle = h("button", { type: "button", class: "toggle", title: name, "aria-expanded": String(!more.hidden), onclick: () => {
        more.hidden = !more.hidden;
        toggle.setAttribute("aria-expanded", String(!more.hidden));
        open[more.hidden ? "delete" : "add"](name);
      } }, h("bdi", {}, name));
      const { length } = one.charges;
      return [h("tbody", { "data-testid": "books-order" }, h("tr", {}, h("td", {}, toggle), h("td", {}, one.currency), figures(one, one.currency), h("td", {}, length === 1 ? state(one.charges[0].status) : `${length} charges`))), more];
    };
    clear(result).append(h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, h("table", {},
      h("thead", {}, h("tr", {}, ["order", "currency", ...shown, "state"].map((head) => h("th", { scope: "col" }, head)))), orders.flatMap(order),
      h("tfoot", { "data-testid": "books-totals" }, Object.entries(got.totals).map(([currency, one]) => h("tr", {}, h("td", {}, reference ? "this order" : "all orders"), h("td", {}, currency), figures(one, currency), h("td", {})))))));
    if (got.in_doubt.length) result.append(h("section", { class: "block" }, h("h3", {}, "In doubt: the client never learnt how these ended"), h("ul", { class: "rules" }, got.in_doubt.map((one) => h("li", { "data-testid": "in-doubt" }, one.line)))));
  }

  function go(given) {
    reference = input.value = given.q;
    later.soon();
  }

  return { news: later.soon, open: go, close: later.stop };
}
