// Elements, messages and the virtual list. Text only ever enters the page as text.
import { fetched } from "./admin-api.js";

export function h(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function clear(element) {
  element.replaceChildren();
  return element;
}

// The line under the header: it goes with the next thing that succeeds, another view, or its button.
export function say(text, kind = "bad", ...more) {
  const place = document.getElementById("message");
  place.hidden = !text;
  place.dataset.kind = kind;
  clear(place).append(h("span", { class: "words", "data-testid": "message-words" }, text || "", ...more),
    h("button", { class: "quiet small", "aria-label": "Dismiss", onclick: () => { place.hidden = true; } }, "×"));
}

// A button that does something that may be refused: it waits for it, and the refusal appears in words.
export function act(label, job, attributes = {}) {
  const button = h("button", { type: "button", ...attributes, onclick: async () => {
    button.disabled = true;
    try {
      say("");
      await job(button);
    } catch (problem) {
      say(problem.message);
    } finally {
      button.disabled = false;
    }
  } }, label);
  return button;
}

export function field(label, attributes, tag = "input") {
  return h("label", { class: "field" }, h("span", {}, label), h(tag, attributes));
}

const SHARE = 9;
const LONGEST_REST_MS = 10_000;
const MOST_BYTES_A_MS = 60;

// Work on news: at once, then at most once in a while, and never twice at the same time. Watching must not slow what is
// watched: after a look that took long or brought much the rest is the longer.
export function calmly(look, pause = 500) {
  let waiting = null;
  let next = 0;
  let busy = false;
  let again = false;
  async function run() {
    [waiting, busy, again] = [null, true, false];
    const [began, before] = [performance.now(), fetched()];
    try { await look(); } finally { busy = false; }
    const took = Math.min(SHARE * (performance.now() - began), LONGEST_REST_MS);
    next = began + Math.max(pause, took, (fetched() - before) / MOST_BYTES_A_MS);
    if (again) plan();
  }
  function plan() {
    if (busy) again = true;
    else if (!waiting) waiting = setTimeout(run, Math.max(0, next - performance.now()));
  }
  return { soon: plan, stop() { clearTimeout(waiting); again = false; } };
}

export function route(view, ...parts) {
  const given = parts.length && typeof parts[parts.length - 1] === "object" && parts[parts.length - 1] !== null ? parts.pop() : {};
  const path = [view, ...parts.filter((part) => part !== null && part !== undefined).map((part) => encodeURIComponent(part))].join("/");
  return `#${path}${given.q ? `?q=${encodeURIComponent(given.q)}` : ""}`;
}

export function visit(address, replaces = false) {
  if (!replaces) return void (location.hash = address);
  history.replaceState(null, "", address);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// The search of the view on screen, as its address has it.
export function searched() { return new URLSearchParams(location.hash.split("?")[1]).get("q") || ""; }

const BAD = /FAIL|DECLIN|REJECT|ERROR|GIVEN_UP|CANCEL|RETURN|EXPIRED|DISHONOUR/i;
const GOOD = /SUCCESS|PAID|SETTLED|ACTIVE|COMPLETE|DELIVERED|CAPTURED|APPROVED/i;

export function stateClass(state) {
  if (BAD.test(state || "")) return "s-5";
  return GOOD.test(state || "") ? "s-2" : "s-4";
}

export function time(iso) {
  return iso ? `${iso.slice(0, 10)} ${iso.slice(11, 23)}` : "";
}

export function clockTime(iso) {
  return iso ? iso.slice(11, 23) : "";
}

const digits = new Map();

// An amount with the digits of its currency, and more where it has more.
export function money(amount, currency = "") {
  if (!digits.has(currency)) {
    let known = 2;
    try { known = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits; } catch { /* not a currency */ }
    digits.set(currency, new Intl.NumberFormat("en", { minimumFractionDigits: known, maximumFractionDigits: 10 }));
  }
  return Number.isFinite(Number(amount)) ? digits.get(currency).format(amount) : String(amount);
}

// A text such as "AUD 42.5", with the digits of its currency.
export function priced(text) {
  const [currency, amount] = (text || "").split(" ");
  return amount ? `${currency} ${money(amount, currency)}` : text || "";
}

// What a webhook is about, for its row: its reference or else the event, the amount, the state of what it tells.
export function about({ about: { reference, amount, currency, status } = {}, eventType, path }, mark = null) {
  return [h("bdi", { class: "c-path ref" }, reference || eventType || path), mark, h("span", { class: "c-amount" }, amount ? `${currency || ""} ${money(amount, currency)}` : ""), h("span", { class: `c-status ${stateClass(status)}` }, status || "")];
}

// A path with its long ids cut short; the whole of it is the title of the element.
export function short(path) {
  return path.replace(/[0-9a-f]{24,}/g, (id) => `${id.slice(0, 6)}…`);
}

// JSON in colours, built as elements: a long value never blocks, a strange one never runs.
export function json(value, indent = "") {
  const deeper = `${indent}  `;
  if (value === null) return [h("span", { class: "j-null" }, "null")];
  if (Array.isArray(value)) {
    if (!value.length) return ["[]"];
    return ["[\n", ...value.flatMap((item, i) => [deeper, ...json(item, deeper), i < value.length - 1 ? ",\n" : "\n"]), indent, "]"];
  }
  if (typeof value === "object") {
    const entries = Object.entries(value);
    if (!entries.length) return ["{}"];
    return ["{\n", ...entries.flatMap(([name, item], i) => [
      deeper, h("span", { class: "j-key" }, JSON.stringify(name)), ": ", ...json(item, deeper), i < entries.length - 1 ? ",\n" : "\n",
    ]), indent, "}"];
  }
  const text = h("span", { class: `j-${typeof value}` }, JSON.stringify(value));
  const isOfPayers = ["/pay/", "/3ds/"].some((path) => String(value).startsWith(location.origin + path));
  return [isOfPayers ? h("a", { href: value, target: "_blank", rel: "noopener" }, text) : text];
}

export function block(title, value, testid) {
  if (value === null || value === undefined || value === "") return null;
  const body = typeof value === "string" ? [value] : json(value);
  return h("section", { class: "block" }, h("h3", {}, title), h("pre", { "data-testid": testid, tabindex: "0" }, ...body));
}

// Empty columns are left out.
export function table(all, given, testid) {
  const kept = all.map((_, i) => i).filter((i) => !given.length || given.some((cells) => cells[i] !== ""));
  const [heads, ...rows] = [all, ...given].map((cells) => kept.map((i) => cells[i]));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, h("table", { "data-testid": testid },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, i) => h("td", { "data-head": heads[i], class: typeof cell === "string" && /^\d{4}-\d\d-\d\d \d/.test(cell) ? "when" : null }, cell)))))));
}

// A list that draws only the rows in sight. `draw(item)` gives the cells of a row, `pick(item, replaces)` is called for
// the chosen one, `nearEnd()` when the reader comes close to the last row. An item `{ note }` stands between rows. What
// comes in on top moves no row that is pointed at, has the focus or was scrolled to: `above(count)` says how many wait.
export class List {
  constructor({ label, testid, draw, pick, keyOf, nearEnd = () => {}, nearStart = () => {}, above = () => {}, dayOf = null, look = () => "", rowHeight = 52, inSight = () => {} }) {
    Object.assign(this, { draw, pick, keyOf, nearEnd, nearStart, above, dayOf, look, inSight, items: [], at: -1, rowHeight, key: null, pressed: null, unseen: 0 });
    this.space = h("div", { class: "space" });
    this.element = h("div", {
      class: "list", role: "listbox", tabindex: "0", "aria-label": label, "data-testid": testid,
      onscroll: () => this.scrolled(), onkeydown: (event) => this.typed(event),
      onclick: (event) => this.clicked(rowOf(event)), onpointerdown: (event) => { this.pressed = rowOf(event); },
      // News may draw the row anew, and elsewhere, while it is pressed: then no click comes.
      onpointerup: () => { if (this.pressed && !this.pressed.isConnected) this.clicked(this.pressed); },
    }, this.space);
    this.waiting = false;
    this.watcher = new ResizeObserver(() => this.later());
    this.watcher.observe(this.element);
  }

  set(given, { grownBy = 0, stays = false } = {}) {
    const items = this.dayOf ? withDays(given, this.dayOf) : given;
    const grown = grownBy && items.length - this.items.length;
    this.items = items;
    this.element.toggleAttribute("data-empty", !items.length);
    if (grown && (stays || this.element.scrollTop > 0 || this.element.matches(":hover, :focus"))) {
      this.space.style.height = `${items.length * this.rowHeight}px`;
      this.element.scrollTop += grown * this.rowHeight;
      this.unseen = this.element.scrollTop > 0 && !stays ? this.unseen + grownBy : 0;
      this.above(this.unseen);
    }
    this.at = this.key === null ? -1 : this.items.findIndex((item) => this.isRow(item) && this.keyOf(item) === this.key);
    this.later();
  }

  isRow(item) { return Boolean(item) && !item.day && !item.note; }

  scrolled() {
    if (this.unseen && this.element.scrollTop < this.rowHeight) this.above(this.unseen = 0);
    this.later();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.rowHeight) - 8);
    const last = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / this.rowHeight) + 8);
    this.space.style.height = `${this.items.length * this.rowHeight}px`;
    const rows = [];
    for (let i = first; i < last; i += 1) {
      const item = this.items[i];
      const row = item && !this.isRow(item) ? h("div", { class: "row day", "aria-hidden": "true" }, item.day || item.note) : h("div", {
        role: "option", id: `${this.element.dataset.testid}-${i}`, class: `row ${item ? this.look(item) : "empty"}`, "data-index": i,
        "data-key": item ? this.keyOf(item) : null, "aria-selected": String(i === this.at), "aria-setsize": this.items.length, "aria-posinset": i + 1,
      }, item ? this.draw(item) : "…");
      row.style.top = `${i * this.rowHeight}px`;
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
    this.inSight(first, last);
    if (this.at < 0) this.element.removeAttribute("aria-activedescendant");
    if (this.at >= first && this.at < last) this.element.setAttribute("aria-activedescendant", `${this.element.dataset.testid}-${this.at}`);
    if (last >= this.items.length - 20) this.nearEnd();
    if (scrollTop < 20 * this.rowHeight) this.nearStart();
  }

  select(key) {
    this.key = key;
    this.at = this.items.findIndex((item) => this.isRow(item) && this.keyOf(item) === key);
    this.later();
  }

  to(given, replaces = false) {
    const step = given < this.at || given >= this.items.length - 1 ? -1 : 1;
    let index = given;
    while (this.items[index] && !this.isRow(this.items[index])) index += step;
    if (index < 0 || index >= this.items.length || !this.items[index]) return;
    this.at = index;
    this.key = this.keyOf(this.items[index]);
    const top = index * this.rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    if (top + this.rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + this.rowHeight - clientHeight;
    this.later();
    this.pick(this.items[index], replaces);
  }

  typed(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const there = {
      ArrowDown: this.at + 1, j: this.at + 1, ArrowUp: this.at - 1, k: this.at - 1, PageDown: Math.min(this.at + page, this.items.length - 1),
      PageUp: Math.max(this.at - page, 0), Home: 0, End: this.items.length - 1,
    }[event.key];
    if (there === undefined) return;
    event.preventDefault();
    // A walk through the rows is one step back.
    this.to(there, true);
  }

  clicked(row) {
    if (!row) return;
    const at = this.items.findIndex((item) => this.isRow(item) && String(this.keyOf(item)) === row.dataset.key);
    this.to(at < 0 ? Number(row.dataset.index) : at);
  }
}

function rowOf(event) {
  return event.target.closest("[data-index]");
}

function withDays(items, dayOf) {
  const all = [];
  let before = null;
  for (const item of items) {
    const day = item && !item.note ? dayOf(item) : before;
    if (day !== before) all.push({ day });
    before = day;
    all.push(item);
  }
  return all;
}

// A list beside its detail; where there is room for one only, the detail takes the place of the list, with a way back.
export function split(panel, left, right, view) {
  const detail = h("div", { class: "body" }, right);
  const back = h("a", { class: "back", href: `#${view}`, "data-testid": "back" }, "← Back to the list");
  const whole = h("div", { class: "split" }, h("div", { class: "left" }, left),
    h("section", { class: "right", "data-testid": "detail", tabindex: "0", "aria-label": "Details" },
      back, detail));
  panel.append(whole);
  // The way back leads to the list as it was: its kind and its search.
  detail.chosen = (on, list = `#${view}`) => { whole.classList.toggle("chosen", Boolean(on)); back.setAttribute("href", list); };
  return detail;
}
