// The inboxes that received something: new lines are fetched as they come, a body when it is opened.
import { api } from "./admin-api.js";
import { h, clear, say, act, List, split, block, time, clockTime, calmly, route, about } from "./admin-dom.js";
import { lesson } from "./admin-lessons.js";

const PAGE = 300;

export function inbox(panel) {
  let name = null;
  let rows = [];
  let run = 0;
  let shown = null;
  const names = h("div", { class: "kinds", role: "group", "aria-label": "Inboxes" });
  const list = new List({
    label: "Messages", testid: "inbox", keyOf: (item) => item.id, pick: (item) => { location.hash = route("inbox", name, item.id); },
    dayOf: (item) => item.at.slice(0, 10), look: (item) => (item.signature === "invalid" ? "failed" : ""),
    draw: (item) => [
      h("span", { class: "line" }, h("span", { class: "c-time" }, clockTime(item.at).slice(0, 8)), ...about(item)),
      h("span", { class: "line soft" }, h("span", { class: "c-id" }, `#${item.id}`), h("span", { class: { valid: "s-2", invalid: "s-5" }[item.signature] || "s-4" }, `signature ${item.signature}`), h("span", { class: "c-url" }, item.about?.reference ? item.eventType : "", ` ${item.method} ${item.path}`)),
    ],
  });
  const detail = split(panel, [names, list.element], null, "inbox");
  const later = calmly(load);

  async function load() {
    const mine = run;
    try {
      const { inboxes } = await api("GET", "/__admin/inbox");
      if (mine !== run) return;
      if (!inboxes.some((one) => one.name === name) && inboxes.length && !shown) { name = inboxes[0].name; rows = []; }
      drawNames(inboxes);
      const box = inboxes.find((one) => one.name === name);
      if (!box) rows = [];
      else {
        const after = rows.length ? rows[0].id : 0;
        const got = await api("GET", `/__admin/inbox/${encodeURIComponent(name)}?bodies=false&after=${after}&limit=${PAGE}`);
        if (mine !== run) return;
        rows = [...got.messages.reverse(), ...rows].slice(0, Math.max(got.count, 0));
      }
      list.set(rows);
      if (shown) list.select(Number(shown));
      if (!shown) clear(detail).append(...(rows.length ? [h("p", { class: "soft hint" }, "Choose a message to see what arrived.")] : lesson("inbox")));
    } catch (problem) {
      say(problem.message);
    }
  }

  function drawNames(inboxes) {
    clear(names).append(...inboxes.map((one) => h("button", {
      type: "button", "aria-pressed": String(one.name === name), "data-testid": `inbox-${one.name}`, onclick: () => { location.hash = route("inbox", one.name); },
    }, one.name, h("span", { class: "count" }, String(one.count)))));
    if (!inboxes.length) names.append(h("span", { class: "soft" }, "Nothing has arrived yet."));
    else names.append(act("Clear", async () => { await api("DELETE", `/__admin/inbox/${encodeURIComponent(name)}`); [name, shown, rows] = [null, null, []]; run += 1; later.soon(); }, { class: "quiet", "data-testid": "inbox-clear" }));
  }

  async function draw(id) {
    try {
      const item = await api("GET", `/__admin/inbox/${encodeURIComponent(name)}/${id}`);
      if (shown !== id) return;
      clear(detail).append(...[
        h("h2", { "data-testid": "message-title" }, `${item.method} ${item.path}`),
        h("p", { class: "facts" }, h("span", {}, time(item.at)), h("span", { class: { valid: "s-2", invalid: "s-5" }[item.signature] || "s-4", "data-testid": "message-signature" }, `signature ${item.signature}`)),
        block("Body", item.body, "message-body"), block("Headers", item.headers), block("Query", Object.keys(item.query).length ? item.query : null),
      ].filter(Boolean));
    } catch (problem) {
      if (shown === id) clear(detail).append(h("p", { class: "wrong" }, problem.message));
    }
  }

  async function open(wanted, id) {
    if (wanted && wanted !== name) { name = wanted; rows = []; run += 1; }
    shown = id || null;
    detail.chosen(shown, route("inbox", name));
    later.soon();
    list.select(shown ? Number(shown) : null);
    if (shown) draw(shown);
  }

  return { news: () => later.soon(), open, list, close: () => { run += 1; later.stop(); list.watcher.disconnect(); } };
}
