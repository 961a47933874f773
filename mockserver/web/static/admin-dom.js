// Elements, messages and the virtual list. Text only ever enters the page as text.
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

export function say(text, kind = "bad") {
  const place = document.getElementById("message");
  place.hidden = !text;
  place.textContent = text;
  place.dataset.kind = kind;
}

export function time(iso) {
  return iso ? `${iso.slice(0, 10)} ${iso.slice(11, 23)}` : "";
}

export function clockTime(iso) {
  return iso ? iso.slice(11, 23) : "";
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
  return [h("span", { class: `j-${typeof value}` }, JSON.stringify(value))];
}

export function block(title, value, testid) {
  if (value === null || value === undefined || value === "") return null;
  const body = typeof value === "string" ? [value] : json(value);
  return h("section", { class: "block" }, h("h3", {}, title), h("pre", { "data-testid": testid, tabindex: "0" }, ...body));
}

export function table(heads, rows, testid) {
  return h("div", { class: "scroll" }, h("table", { "data-testid": testid },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", typeof cell === "string" && /^\d{4}-\d\d-\d\d \d/.test(cell) ? { class: "when" } : {}, cell)))))));
}

// A list that draws only the rows in sight. `draw(item)` gives the cells of a row, `pick(item)` is called for the
// chosen one, `nearEnd()` when the reader comes close to the last row.
export class List {
  constructor({ label, testid, draw, pick, keyOf, nearEnd = () => {} }) {
    Object.assign(this, { draw, pick, keyOf, nearEnd, items: [], at: -1, rowHeight: 30, key: null });
    this.space = h("div", { class: "space" });
    this.element = h("div", {
      class: "list", role: "listbox", tabindex: "0", "aria-label": label, "data-testid": testid,
      onscroll: () => this.later(), onkeydown: (event) => this.typed(event), onclick: (event) => this.clicked(event),
    }, this.space);
    this.waiting = false;
    this.watcher = new ResizeObserver(() => this.later());
    this.watcher.observe(this.element);
  }

  set(items, { grownBy = 0 } = {}) {
    this.items = items;
    // Whoever has scrolled down keeps the rows under their eyes when new ones come in on top.
    if (grownBy && this.element.scrollTop > 0) this.element.scrollTop += grownBy * this.rowHeight;
    this.at = this.key === null ? -1 : this.items.findIndex((item) => this.keyOf(item) === this.key);
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
      const row = h("div", {
        role: "option", id: `${this.element.dataset.testid}-${i}`, class: "row", "data-index": i,
        "data-key": this.keyOf(this.items[i]), "aria-selected": String(i === this.at), "aria-setsize": this.items.length, "aria-posinset": i + 1,
      }, this.draw(this.items[i]));
      row.style.top = `${i * this.rowHeight}px`;
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
    if (this.at >= 0) this.element.setAttribute("aria-activedescendant", `${this.element.dataset.testid}-${this.at}`);
    if (last >= this.items.length - 20) this.nearEnd();
  }

  select(key) {
    this.key = key;
    this.at = this.items.findIndex((item) => this.keyOf(item) === key);
    this.later();
  }

  to(index) {
    if (index < 0 || index >= this.items.length) return;
    this.at = index;
    this.key = this.keyOf(this.items[index]);
    const top = index * this.rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    if (top + this.rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + this.rowHeight - clientHeight;
    this.later();
    this.pick(this.items[index]);
  }

  typed(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const there = {
      ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: Math.min(this.at + page, this.items.length - 1),
      PageUp: Math.max(this.at - page, 0), Home: 0, End: this.items.length - 1,
    }[event.key];
    if (there === undefined) return;
    event.preventDefault();
    this.to(there);
  }

  clicked(event) {
    const row = event.target.closest("[data-index]");
    if (row) this.to(Number(row.dataset.index));
  }
}

export function split(panel, left, right) {
  panel.append(h("div", { class: "split" }, h("div", { class: "left" }, left), h("div", { class: "right", "data-testid": "detail" }, right)));
  return panel.querySelector(".right");
}
