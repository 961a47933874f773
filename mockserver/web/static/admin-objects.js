// Objects: what the sandbox holds, each with its history and the diagram of its states.
import { api } from "./admin-api.js";
import { h, clear, say, List, split, block, table, time, clockTime, short } from "./admin-dom.js";
import { mark, concerning } from "./admin-findings.js";
import { diagram } from "./admin-diagram.js";

const PAGE = 1000;

export function objects(panel, count) {
  let kind = "charge";
  let rows = [];
  let total = 0;
  let loading = false;
  let shown = null;
  let later = null;
  const kinds = h("div", { class: "kinds", role: "group", "aria-label": "Kinds of objects" });
  const list = new List({
    label: "Objects", testid: "objects", keyOf: (item) => item.id, pick: (item) => { location.hash = `objects/${kind}/${item.id}`; },
    nearEnd: () => { if (rows.length < total) load(rows.length); },
    draw: (item) => [
      h("span", { class: "c-time", title: time(item.added) }, clockTime(item.added).slice(0, 8)),
      h("span", { class: "c-path", title: item.id }, item.id),
      mark("object", item.id),
      h("span", { class: "c-rule" }, item.label || ""),
      h("span", { class: "c-amount" }, item.amount || ""),
      h("span", { class: "c-state" }, item.state || ""),
    ],
  });
  const detail = split(panel, [kinds, list.element], h("p", { class: "soft hint" }, "Choose an object to see its state, its history and what may happen to it next."));

  async function load(skip = 0) {
    if (loading) return;
    loading = true;
    const asked = kind;
    try {
      const got = await api("GET", `/__admin/objects?kind=${asked}&skip=${skip}&limit=${PAGE}`);
      if (asked !== kind) return;
      rows = skip ? [...rows, ...got.objects] : got.objects;
      total = got.count;
      drawKinds(got.counts);
      list.set(rows);
      count(Object.values(got.counts).reduce((sum, one) => sum + one, 0) || "");
    } catch (problem) {
      say(problem.message);
    } finally {
      loading = false;
    }
  }

  function drawKinds(counts) {
    const focused = document.activeElement && document.activeElement.dataset.kind;
    clear(kinds).append(...Object.entries(counts).sort((one, two) => (two[1] > 0) - (one[1] > 0)).map(([name, many]) => h("button", {
      "aria-pressed": String(name === kind), "data-kind": name, "data-testid": `kind-${name}`,
      onclick: () => { location.hash = `objects/${name}`; },
    }, name.replaceAll("_", " "), h("span", { class: "count" }, many ? String(many) : ""))));
    if (focused) kinds.querySelector(`[data-kind="${focused}"]`)?.focus();
  }

  async function open(wanted = kind, id = null) {
    if (wanted !== kind) { kind = wanted; rows = []; list.element.scrollTop = 0; }
    await load();
    if (id) { list.select(id); await draw(id); }
  }

  async function draw(id) {
    shown = id;
    try {
      const [tables, object, journal] = await Promise.all([
        api("GET", "/__admin/states"), api("GET", `/__admin/objects/${kind}/${id}`), api("GET", `/__admin/journal?subject=${id}&limit=1000`),
      ]);
      if (shown !== id) return;
      const history = journal.entries.flatMap((entry) => entry.events.filter((event) => event.id === id).map((event) => ({ ...event, entry })));
      const law = tables[kind];
      clear(detail).append(
        h("h2", { "data-testid": "object-title" }, `${kind.replaceAll("_", " ")} `, h("code", {}, id)),
        h("p", { class: "facts" }, object.state ? h("span", { class: "badge", "data-testid": "object-state" }, object.state) : null, h("span", {}, `added ${time(object.added)}`)),
        concerning("object", id),
        ...(law && object.state ? [states(law, object.state, history)] : []),
        h("section", { class: "block" }, h("h3", {}, "History"), history.length
          ? table(["", "When", "Happened", "From", "To", "By"], history.map((event, i) => [
            String(i + 1), time(event.at), event.what.replaceAll("_", " "), event.before || "", event.after || "",
            h("a", { href: `#requests/${event.entry.id}` }, event.entry.request ? `${event.entry.request.method} ${short(event.entry.request.path)}` : event.entry.op),
          ]), "history")
          : h("p", { class: "soft" }, "The journal keeps nothing about it.")),
        ...[block("As the API shows it", object.object, "object-body")].filter(Boolean));
    } catch (problem) {
      say(problem.message);
    }
  }

  function news() {
    if (later) return;
    later = setTimeout(() => {
      later = null;
      if (rows.length <= PAGE) load();
      if (shown) draw(shown);
    }, 250);
  }

  return { news, list, open: (...rest) => open(...rest.filter(Boolean)), close: () => { clearTimeout(later); list.watcher.disconnect(); } };
}

function states(law, state, history) {
  const next = Object.entries(law.moves[state] || {});
  return h("section", { class: "block" }, h("h3", {}, "State"), diagram(law, state, history),
    h("p", { class: "soft", "data-testid": "next-moves" }, next.length
      ? `From here: ${next.map(([event, after]) => `${event.replaceAll("_", " ")} → ${after}`).join(", ")}.`
      : "Nothing leads on from here."));
}
