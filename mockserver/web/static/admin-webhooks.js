// Webhooks: only what has changed is fetched, bodies when one is opened; every try, and sending again.
import { api } from "./admin-api.js";
import { h, clear, say, act, field, List, split, block, table, time, clockTime, calmly, route, stateClass, about } from "./admin-dom.js";
import { mark, concerning } from "./admin-findings.js";
import { lesson } from "./admin-lessons.js";

const PAGE = 200;
const MOST = 2000;

export function webhooks(panel) {
  const known = new Map();
  let changes = 0;
  let kept = 0;
  let run = 0;
  let shown = null;
  let word = "";
  const summary = h("span", { class: "soft", role: "status" });
  const filter = h("input", { type: "search", placeholder: "reference, event, state, receiver", "aria-label": "Filter webhooks", "data-testid": "webhook-filter", oninput: () => { word = filter.value.toLowerCase(); paint(); } });
  const send = h("details", { class: "menu wide" }, h("summary", { role: "button", "data-testid": "send-event" }, "Send an event"), sendForm());
  const again = h("details", { class: "menu wide" }, h("summary", { role: "button", "data-testid": "replay" }, "Replay"), replayForm());
  const list = new List({
    label: "Webhooks", testid: "webhooks", keyOf: (item) => item.id, pick: (item) => { location.hash = route("webhooks", item.id); },
    dayOf: (item) => item.added.slice(0, 10), look: (item) => (item.state === "given_up" ? "failed" : ""),
    nearEnd: () => { if (known.size < kept && known.size < MOST) older(); },
    draw: (item) => [
      h("span", { class: "line" }, h("span", { class: "c-time" }, clockTime(item.added).slice(0, 8)), ...about(item, mark("webhook", item.id))),
      h("span", { class: "line soft" }, h("span", { class: `c-state ${stateClass(item.state)}` }, item.state.replace("_", " ")), h("span", { class: "c-latency" }, tries(item)), h("bdi", { class: "c-url", title: item.url }, item.about?.reference ? item.eventType : "", " ", item.url)),
    ],
  });
  const detail = split(panel, [h("div", { class: "bar" }, filter, again, send), h("div", { class: "bar summary" }, summary), list.element], null, "webhooks");
  const later = calmly(fresh);

  function tries(item) {
    return `${item.tries.length} ${item.tries.length === 1 ? "try" : "tries"}${item.tries.length ? `${item.tries.length > 1 ? ", last" : ""}: ${item.tries.at(-1).error || item.tries.at(-1).status}` : ""}`;
  }

  function paint() {
    const all = [...known.values()].sort((one, two) => two.added.localeCompare(one.added) || two.order - one.order);
    list.set(word ? all.filter((item) => `${item.eventType} ${item.state} ${item.url} ${item.id} ${item.subject} ${Object.values(item.about || {}).join(" ")}`.toLowerCase().includes(word)) : all);
    if (!all.length && !shown) clear(detail).append(...lesson("webhooks"));
    else if (!shown) clear(detail).append(h("p", { class: "soft hint" }, "Choose a webhook to see every try, or send it again."));
  }

  let order = 0;
  function take(got) {
    for (const item of got.webhooks) known.set(item.id, { ...item, order: known.get(item.id)?.order ?? (order += 1) });
  }

  async function fresh() {
    const mine = run;
    try {
      const got = await api("GET", `/__admin/webhooks?bodies=false&limit=${changes ? 1000 : PAGE}&changed=${changes}`);
      if (mine !== run) return;
      if (got.changes < changes || got.kept < kept - 1000) { changes = 0; kept = 0; known.clear(); later.soon(); return; }
      take(got);
      const more = changes && got.count > got.webhooks.length;
      [changes, kept] = [got.changes, got.kept];
      // More has happened than one answer holds: begin anew.
      if (more) { changes = 0; known.clear(); later.soon(); return; }
      while (known.size > Math.max(kept, PAGE)) known.delete(known.keys().next().value);
      summary.textContent = [kept ? `${kept} ${kept === 1 ? "webhook" : "webhooks"}` : "", got.dropped ? `${got.dropped} older ones dropped` : "", got.refused ? `${got.refused} found no room` : ""].filter(Boolean).join(", ");
      paint();
      if (shown) list.select(shown);
      if (shown && got.webhooks.some((item) => item.id === shown)) draw(shown);
    } catch (problem) {
      say(problem.message);
    }
  }

  let reading = false;
  async function older() {
    if (reading) return;
    reading = true;
    try {
      const got = await api("GET", `/__admin/webhooks?bodies=false&limit=${PAGE}&skip=${known.size}`);
      got.webhooks.reverse().forEach((item) => { if (!known.has(item.id)) known.set(item.id, { ...item, order: -(order += 1) }); });
      if (got.webhooks.length) paint();
    } catch (problem) {
      say(problem.message);
    } finally {
      reading = false;
    }
  }

  async function draw(id) {
    try {
      const item = await api("GET", `/__admin/webhooks/${encodeURIComponent(id)}`);
      if (shown !== id) return;
      const focused = document.activeElement && document.activeElement.dataset.testid === "resend";
      clear(detail).append(...[
        h("h2", { "data-testid": "webhook-title" }, item.eventType),
        h("p", { class: "facts" }, h("span", { class: `badge ${stateClass(item.state)}`, "data-testid": "webhook-state" }, item.state.replace("_", " ")),
          h("bdi", {}, item.url), item.next ? h("span", {}, `next try ${time(item.next)}`) : null, item.subject ? h("a", { href: `#requests?q=${encodeURIComponent(`id:${item.subject}`)}` }, `about ${item.subject.slice(0, 8)}…`) : null),
        h("div", { class: "actions" }, act("Send again", async () => { await api("POST", `/__admin/webhooks/${encodeURIComponent(id)}/resend`); later.soon(); await draw(id); }, { class: "primary", "data-testid": "resend" })),
        concerning("webhook", item.id),
        h("section", { class: "block" }, h("h3", {}, "Tries"), item.tries.length
          ? table(["When", "Answer", "Took", "By"], item.tries.map((one) => [time(one.at), h("span", { class: one.status >= 200 && one.status < 300 ? "s-2" : "s-5" }, one.error || String(one.status)), one.latency, one.scripted ? "answered by the scenario" : "the receiver"]), "tries")
          : h("p", { class: "soft" }, "None yet.")),
        block("Body", item.body, "webhook-body"), block("Signature", item.signature),
      ].filter(Boolean));
      if (focused) detail.querySelector("[data-testid=resend]").focus();
    } catch (problem) {
      if (shown === id) clear(detail).append(h("h2", {}, "Webhook"), h("p", { class: "wrong" }, problem.message));
    }
  }

  function open(id) {
    shown = id || null;
    detail.chosen(shown);
    if (!run) { run = 1; later.soon(); } else if (!shown) paint();
    list.select(shown);
    if (shown) draw(shown);
  }

  return { news: () => later.soon(), open, list, search: filter, close: () => { run += 1; later.stop(); list.watcher.disconnect(); } };
}

// Webhooks with their tries, and a button that sends them all again when they are about one object.
export function webhookTable(title, all, subject, changed) {
  if (!all.length) return null;
  return h("section", { class: "block" }, h("h3", {}, title), subject ? h("div", { class: "actions" }, act("Send again", async () => {
    const { webhooks: sent } = await api("POST", "/__admin/webhooks/replay", { subject });
    say(`${sent.length} sent again.`, "info");
    await changed();
  }, { "data-testid": "resend-all" })) : null, table(["Webhook", "Tries", "State", "Receiver"], all.map((one) => [
    one.url ? h("a", { href: route("webhooks", one.id) }, one.eventType) : one.id,
    (one.tries || []).map((made, number) => `${number + 1}: ${made.error || made.status}`).join(", "),
    one.state ? h("span", { class: stateClass(one.state) }, one.state.replace("_", " ")) : "no longer kept", one.url || "",
  ]), "caused"));
}

// What a part of the journal has caused, once more: where it went, or to a receiver of the reader's own.
function replayForm() {
  const given = {
    since: field("After this mark or request", { value: "0", "data-testid": "replay-since" }), until: field("Up to this one", { placeholder: "the last", "data-testid": "replay-until" }),
    url: field("Receiver", { type: "url", placeholder: "those that had them", "data-testid": "replay-url" }),
  };
  const go = act("Send again", async () => {
    const values = Object.entries(given).map(([name, label]) => [name, label.querySelector("input").value.trim()]);
    const { webhooks: sent } = await api("POST", "/__admin/webhooks/replay", Object.fromEntries(values.filter(([, value]) => value)));
    go.closest("details").open = false;
    say(`${sent.length} ${sent.length === 1 ? "webhook" : "webhooks"} sent again.`, "info");
  }, { class: "primary", "data-testid": "replay-send" });
  return h("form", { class: "stack", onsubmit: (event) => { event.preventDefault(); go.click(); } }, Object.values(given), go);
}

function sendForm() {
  const type = h("select", { "data-testid": "event-type" }, ["transaction", "batch", "subscription", "customer", "paymentMethod"].map((name) => h("option", {}, name)));
  const url = h("input", { type: "url", placeholder: "none: every subscription of the type", value: `${location.origin}/__inbox/shop`, "data-testid": "event-url" });
  const data = h("textarea", { rows: 4, spellcheck: "false", "data-testid": "event-data" }, '{"chargeId": "x", "status": "SUCCESS"}');
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  return h("form", { class: "stack", onsubmit: async (event) => {
    event.preventDefault();
    wrong.hidden = true;
    try {
      const made = await api("POST", "/__admin/events", { type: type.value, data: JSON.parse(data.value || "{}"), ...(url.value ? { url: url.value } : {}) });
      event.target.closest("details").open = false;
      location.hash = route("webhooks", made.webhooks[0].id);
    } catch (problem) {
      wrong.textContent = problem.message;
      wrong.hidden = false;
    }
  } }, h("label", { class: "field" }, h("span", {}, "Type"), type), h("label", { class: "field" }, h("span", {}, "Receiver"), url), h("label", { class: "field" }, h("span", {}, "Data (JSON)"), data), wrong, h("button", { class: "primary", "data-testid": "event-send" }, "Send"));
}
