// Webhooks with every attempt, and the inboxes that received some.
import { api } from "./admin-api.js";
import { h, clear, say, List, split, block, table, time, clockTime } from "./admin-dom.js";
import { mark, concerning } from "./admin-findings.js";

const MOST = 1000;
const SOON_MS = 250;
const LOOKS = { delivered: "s-2", waiting: "s-4", sending: "s-4", held: "s-4", given_up: "s-5" };

// News come in bursts: at most one look every quarter of a second.
function calmly(look) {
  let waiting = null;
  return {
    soon() { waiting = waiting || setTimeout(() => { waiting = null; look(); }, SOON_MS); },
    stop() { clearTimeout(waiting); },
  };
}

export function webhooks(panel, count) {
  let rows = [];
  let shown = null;
  const told = h("span", { class: "soft" });
  const list = new List({
    label: "Webhooks", testid: "webhooks", keyOf: (item) => item.id, pick: (item) => { location.hash = `webhooks/${item.id}`; },
    draw: (item) => [
      h("span", { class: "c-time", title: time(item.added) }, clockTime(item.added).slice(0, 8)),
      h("span", { class: "c-event" }, item.eventType),
      h("span", { class: "c-path", title: item.url }, item.url),
      mark("webhook", item.id),
      h("span", { class: "c-latency" }, `${item.tries.length} ${item.tries.length === 1 ? "try" : "tries"}`),
      h("span", { class: `c-state ${LOOKS[item.state] || ""}` }, item.state.replace("_", " ")),
    ],
  });
  const detail = split(panel, [h("div", { class: "bar" }, told), list.element],
    h("p", { class: "soft hint" }, "Choose a webhook to see every try, or send it again."));
  const later = calmly(load);

  async function load() {
    try {
      const got = await api("GET", `/__admin/webhooks?limit=${MOST}`);
      rows = got.webhooks.reverse();
      told.textContent = [
        `${got.count} ${got.count === 1 ? "webhook" : "webhooks"}`, got.dropped ? `${got.dropped} older ones dropped` : "",
        got.refused ? `${got.refused} found no room` : "",
      ].filter(Boolean).join(", ");
      count(got.count || "");
      list.set(rows);
      if (shown) draw(rows.find((item) => item.id === shown));
    } catch (problem) {
      say(problem.message);
    }
  }

  async function resend(id) {
    try {
      await api("POST", `/__admin/webhooks/${encodeURIComponent(id)}/resend`);
      say("");
      await load();
    } catch (problem) {
      say(problem.message);
    }
  }

  function draw(item) {
    if (!item) return;
    const kept = document.activeElement && document.activeElement.dataset.testid === "resend";
    clear(detail).append(
      h("h2", { "data-testid": "webhook-title" }, item.eventType),
      h("p", { class: "facts" },
        h("span", { class: `badge ${LOOKS[item.state] || ""}`, "data-testid": "webhook-state" }, item.state.replace("_", " ")),
        h("span", {}, item.url), item.next ? h("span", {}, `next try ${time(item.next)}`) : null,
        item.subject ? h("span", {}, `about ${item.subject}`) : null),
      h("p", {}, h("button", { class: "primary", onclick: () => resend(item.id), "data-testid": "resend" }, "Send again")),
      concerning("webhook", item.id),
      h("section", { class: "block" }, h("h3", {}, "Tries"), item.tries.length
        ? table(["When", "Answer", "Took", ""], item.tries.map((one) => [
          time(one.at), one.error || String(one.status), one.latency, one.scripted ? "said by the scenario" : "",
        ]), "tries")
        : h("p", { class: "soft" }, "None yet.")),
      ...[
        block("Body", item.body, "webhook-body"),
        block("Signature", item.signature),
      ].filter(Boolean));
    if (kept) detail.querySelector("[data-testid=resend]").focus();
  }

  async function open(id) {
    shown = id || shown;
    await load();
    if (id) list.select(id);
  }

  return { news: () => later.soon(), open, list, close: () => { later.stop(); list.watcher.disconnect(); } };
}

export function inbox(panel, count) {
  let name = null;
  let rows = [];
  let shown = null;
  const names = h("div", { class: "kinds", role: "group", "aria-label": "Inboxes" });
  const list = new List({
    label: "Messages", testid: "inbox", keyOf: (item) => item.id, pick: (item) => { location.hash = `inbox/${encodeURIComponent(name)}/${item.id}`; },
    draw: (item) => [
      h("span", { class: "c-id" }, String(item.id)),
      h("span", { class: "c-time", title: time(item.at) }, clockTime(item.at)),
      h("span", { class: "c-method" }, item.method),
      h("span", { class: "c-path" }, (item.body && item.body.meta && item.body.meta.eventType) || ""),
      h("span", { class: `c-state ${{ valid: "s-2", invalid: "s-5" }[item.signature] || "s-4"}` }, `signature ${item.signature}`),
    ],
  });
  const detail = split(panel, [names, list.element],
    h("p", { class: "soft hint" }, "Whatever is sent to /__inbox/<name> with this sandbox's key, and every webhook to it, is kept here."));
  const later = calmly(load);

  async function load() {
    try {
      const { inboxes } = await api("GET", "/__admin/inbox");
      if (name === null && inboxes.length) name = inboxes[0].name;
      clear(names).append(...inboxes.map((one) => h("button", {
        "aria-pressed": String(one.name === name), "data-testid": `inbox-${one.name}`,
        onclick: () => { location.hash = `inbox/${encodeURIComponent(one.name)}`; },
      }, one.name, h("span", { class: "count" }, String(one.count)))));
      if (!inboxes.length) names.append(h("span", { class: "soft" }, "Nothing has arrived yet."));
      count(inboxes.reduce((sum, one) => sum + one.count, 0) || "");
      if (name === null) return;
      names.append(h("button", { class: "quiet", onclick: forget, "data-testid": "inbox-clear" }, "Clear"));
      rows = (await api("GET", `/__admin/inbox/${encodeURIComponent(name)}`)).messages.reverse();
      list.set(rows);
      if (shown) draw(rows.find((item) => item.id === shown));
    } catch (problem) {
      say(problem.message);
    }
  }

  async function forget() {
    await api("DELETE", `/__admin/inbox/${encodeURIComponent(name)}`).catch((problem) => say(problem.message));
    name = null;
    shown = null;
    list.set([]);
    clear(detail);
    await load();
  }

  function draw(item) {
    if (!item) return;
    clear(detail).append(
      h("h2", { "data-testid": "message-title" }, `${item.method} ${item.path}`),
      h("p", { class: "facts" }, h("span", {}, time(item.at)), h("span", { "data-testid": "message-signature" }, `signature ${item.signature}`)),
      ...[
        block("Body", item.body, "message-body"),
        block("Headers", item.headers),
        block("Query", Object.keys(item.query).length ? item.query : null),
      ].filter(Boolean));
  }

  async function open(wanted, id) {
    if (wanted) name = wanted;
    shown = id ? Number(id) : null;
    await load();
    if (shown) list.select(shown);
  }

  return { news: () => later.soon(), open, close: () => { later.stop(); list.watcher.disconnect(); } };
}
