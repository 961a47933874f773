// Objects: what the sandbox holds, searched on the server, read page by page as they come into sight.
import { api } from "./admin-api.js";
import { h, clear, say, List, split, block, table, time, clockTime, calmly, route, visit, stateClass, money, priced } from "./admin-dom.js";
import { mark, concerning } from "./admin-findings.js";
import { search } from "./admin-search.js";
import { actions } from "./admin-acts.js";
import { diagram } from "./admin-diagram.js";
import { lesson } from "./admin-lessons.js";
import { webhookTable } from "./admin-webhooks.js";

const PAGE = 100;
const MOST_WEBHOOKS = 20;
let tables = null;

export function objects(panel, count) {
  let kind = "charge";
  let q = "";
  let rows = [];
  let run = 0;
  let sight = [0, PAGE];
  let asking = new Set();
  let known = new Set();
  let shown = null;
  let drawn = null;
  const kinds = h("div", { class: "kinds", role: "group", "aria-label": "Kinds of objects" });
  const bar = search({
    testid: "object-filter", label: "Search objects", hint: "order-5, a part of an id, state:SUCCESS …",
    examples: ["state:FAILED", "is:finding", "currency:AUD"],
    leave: () => list.element.focus(),
    changed: (value) => { q = value; history.replaceState(null, "", route("objects", kind, shown, { q })); detail.chosen(shown, route("objects", kind, { q })); again(); },
  });
  const summary = h("span", { class: "soft", role: "status", "data-testid": "objects-summary" });
  const list = new List({
    label: "Objects", testid: "objects", keyOf: (item) => item.id, pick: (item, replaces) => visit(route("objects", kind, item.id, { q }), replaces),
    inSight: (first, last) => { sight = [first, last]; need(); }, look: (item) => (stateClass(item.state) === "s-5" ? "failed" : ""),
    draw: (item) => [
      h("span", { class: "line" }, h("span", { class: "c-time" }, time(item.added).slice(0, 19)), mark("object", item.id),
        h("bdi", { class: "c-path" }, item.label || ""), h("span", { class: "c-amount" }, priced(item.amount)),
        h("span", { class: `c-state ${stateClass(item.state)}` }, item.state || "")),
      h("span", { class: "line soft" }, h("span", { class: "c-path", title: item.id }, item.id)),
    ],
  });
  const detail = split(panel, [kinds, h("div", { class: "bar" }, bar.element), h("div", { class: "bar summary" }, summary), list.element], null, "objects");
  const later = calmly(() => { known = new Set(); need(); if (!rows.length) read(0); if (shown) draw(shown); });

  function pageOf(index) { return Math.floor(Math.max(0, index) / PAGE); }

  function need() {
    for (let page = pageOf(sight[0]); page <= pageOf(Math.min(sight[1], rows.length - 1)); page += 1) if (!known.has(page) && rows.length) read(page);
  }

  function again() {
    rows = [];
    list.element.scrollTop = 0;
    asking = new Set();
    known = new Set();
    run += 1;
    return read(0);
  }

  async function read(page) {
    if (asking.has(page)) return;
    asking.add(page);
    known.add(page);
    const mine = run;
    try {
      const got = await api("GET", `/__admin/objects?${new URLSearchParams({ kind, skip: page * PAGE, limit: PAGE, ...(q ? { q } : {}) })}`);
      if (mine !== run) return;
      bar.problem("");
      // What was added on top moves all others down: they are read again when they come into sight.
      if (got.count !== rows.length) { rows = Array.from({ length: got.count }); known = new Set([page]); }
      for (let i = 0; i < PAGE && page * PAGE + i < got.count; i += 1) rows[page * PAGE + i] = got.objects[i];
      drawKinds(got.counts);
      summary.textContent = q ? `${got.count} of ${got.counts[kind]} fit` : got.count ? `${got.count} in all` : "";
      list.set(rows);
      count(Object.values(got.counts).reduce((sum, one) => sum + one, 0) || "");
      if (!shown) clear(detail).append(...(got.count || q ? [h("p", { class: "soft hint" }, got.count ? "Choose an object to see its state, its story and what may happen to it next." : "Nothing fits.")] : lesson("objects")));
    } catch (problem) {
      if (mine === run && problem.status === 400) {
        rows = [];
        list.set(rows);
        summary.textContent = "";
        bar.problem(problem.message.replace(/^Q: /, ""));
      }
      else if (mine === run) say(problem.message);
    } finally {
      if (mine === run) asking.delete(page);
    }
  }

  function drawKinds(counts) {
    const focused = document.activeElement && document.activeElement.dataset.kind;
    clear(kinds).append(...Object.entries(counts).sort((one, two) => (two[1] > 0) - (one[1] > 0)).map(([name, many]) => h("button", {
      type: "button", "aria-pressed": String(name === kind), "data-kind": name, "data-testid": `kind-${name}`, onclick: () => { location.hash = route("objects", name, { q }); },
    }, name.replaceAll("_", " "), h("span", { class: "count" }, many ? String(many) : ""))));
    if (focused) kinds.querySelector(`[data-kind="${focused}"]`)?.focus();
  }

  async function open(wanted, id, given) {
    const other = (wanted || "charge") !== kind || (given.q || "") !== q || !run;
    kind = wanted || "charge";
    q = given.q || "";
    bar.set(q);
    shown = id || null;
    detail.chosen(shown, route("objects", kind, { q }));
    if (other) await again();
    else if (!shown) later.soon();
    list.select(shown);
    if (shown) await draw(shown);
  }

  async function draw(id) {
    try {
      tables = tables || await api("GET", "/__admin/states");
      const [object, sent] = await Promise.all([
        api("GET", `/__admin/objects/${kind}/${encodeURIComponent(id)}`),
        api("GET", `/__admin/webhooks?bodies=false&limit=${MOST_WEBHOOKS}&subject=${encodeURIComponent(id)}`),
      ]);
      if (shown !== id) return;
      const law = tables[kind];
      const focused = detail.contains(document.activeElement) && document.activeElement.getAttribute("href");
      // News leave what is being typed.
      const typed = drawn === id && detail.querySelector(".amount");
      const isTyping = document.activeElement === typed;
      drawn = id;
      clear(detail).append(...[
        h("h2", { "data-testid": "object-title" }, `${kind.replaceAll("_", " ")} `, h("code", {}, id)),
        h("p", { class: "facts" }, object.state ? h("span", { class: `badge ${stateClass(object.state)}`, "data-testid": "object-state" }, object.state) : null,
          object.amount ? h("span", {}, priced(object.amount)) : null, object.object?.refundedAmount ? h("span", {}, `refunded ${money(object.object.refundedAmount, object.object.currency)}`) : null, object.label ? h("bdi", {}, object.label) : null, h("span", {}, `added ${time(object.added)}`)),
        verdict(object.story), law && object.state ? actions(kind, id, law.moves[object.state], () => draw(id)) : null, concerning("object", id), law && object.state ? states(law, object.state, object.story) : null, related(kind, id, object), rowsOf(object.rows), ...object.related.map(those), webhookTable("Webhooks", sent.webhooks, id, () => draw(id)), story(object.story),
        block("As the API shows it", object.object, "object-body"),
      ].filter(Boolean));
      if (focused) detail.querySelector(`[href="${focused}"]`)?.focus();
      const amount = detail.querySelector(".amount");
      if (typed && amount) amount.value = typed.value;
      if (isTyping) amount?.focus();
    } catch (problem) {
      if (shown === id) clear(detail).append(h("h2", {}, kind.replaceAll("_", " ")), h("p", { class: "wrong" }, problem.status === 404 ? "This sandbox holds no such object." : problem.message));
    }
  }

  return { news: () => later.soon(), list, open, search: bar.input, close: () => { later.stop(); bar.stop(); list.watcher.disconnect(); } };
}

const KINDS_OF_IDS = {
  chargeId: "charge", customerId: "customer", paymentMethodId: "payment_method", batchId: "batch", paymentLinkId: "payment_link", subscriptionId: "subscription",
  tokenId: "token", vaultId: "vault", transferId: "transfer", providerId: "provider", networkTokenId: "network_token",
};

// Every id in an object leads to what it names; a charge also to its requests and its order's money.
function related(kind, id, object) {
  const found = new Map();
  const walk = (value) => {
    if (!value || typeof value !== "object") return;
    for (const [name, one] of Object.entries(value)) {
      const of = KINDS_OF_IDS[name];
      if (of && typeof one === "string" && one !== id && found.size < 50) found.set(`${of} ${one}`, h("a", { href: route("objects", of, one) }, `${of.replaceAll("_", " ")} ${one.slice(0, 8)}`));
      else walk(one);
    }
  };
  walk(object.object);
  const links = [...found.values(), h("a", { href: `#requests?q=${encodeURIComponent(`id:${id}`)}` }, "its requests")];
  if (kind === "charge") links.push(h("a", { href: route("books", { q: object.object?.reference || id }) }, "the money of its order"));
  return h("section", { class: "block" }, h("h3", {}, "Related"), h("p", { class: "facts", "data-testid": "related" }, links));
}

function link(kind, id) { return id ? h("a", { href: route("objects", kind, id) }, id.slice(0, 8)) : ""; }

function outcome(state) { return h("span", { class: stateClass(state) }, state || ""); }

// What names the object, the newest first.
function those({ kind, count, objects: some }) {
  const name = `${kind.replaceAll("_", " ")}s`;
  return h("section", { class: "block" }, h("h3", {}, `${count} ${count === 1 ? name.slice(0, -1) : name}${count > some.length ? `, the newest ${some.length}` : ""}`),
    table(["Id", "Label", "Amount", "State", "Added"], some.map((one) => [link(kind, one.id), h("bdi", {}, one.label || ""), priced(one.amount), outcome(one.state), time(one.added).slice(0, 19)]), `related-${kind}`));
}

function rowsOf(rows) {
  if (!rows) return null;
  return h("section", { class: "block" }, h("h3", {}, "Rows"), table(["Row", "Reference", "Amount", "Paid by", "State", "Charge", "Why"], rows.map((row) => [
    String(row.number), h("bdi", {}, row.reference), priced(row.amount), link("payment_method", row.paymentMethodId), outcome(row.state), link("charge", row.chargeId), row.reason || "",
  ]), "batch-rows"));
}

function because(change) {
  return change.rules.map((rule) => `rule ${rule.rule} fired${rule.choice > 1 ? ` on try ${rule.choice}` : ""}${rule.attempt > 1 ? ` at provider ${rule.attempt}` : ""}`).join(", ");
}

// The last change that a rule caused, in a sentence.
function verdict(all) {
  const change = [...all].reverse().find((one) => one.rules.length);
  if (!change) return null;
  const said = change.rules.find((rule) => rule.code !== null);
  return h("p", { class: `verdict ${stateClass(change.after) === "s-5" ? "bad" : ""}`, "data-testid": "object-verdict" },
    `${change.what.replaceAll("_", " ")}${said ? ` (${said.code} ${said.message})` : ""} because ${because(change)}.`);
}

function story(all) {
  return h("section", { class: "block" }, h("h3", {}, "Story"), all.length
    ? table(["Step", "When", "Happened", "From", "To", "Because", "By"], all.map((change, i) => [
      String(i + 1), time(change.at), change.what.replaceAll("_", " "), change.before || "", h("span", { class: stateClass(change.after) }, change.after || ""), because(change),
      change.kept ? h("a", { href: route("requests", change.entry) }, `#${change.entry} ${change.op}`) : `#${change.entry} ${change.op} (no longer in the journal)`,
    ]), "history")
    : h("p", { class: "soft" }, "Nothing is kept of what was imported, set up or made by a batch."));
}

function states(law, state, changes) {
  const next = Object.entries(law.moves[state] || {});
  return h("section", { class: "block" }, h("h3", {}, "State"), diagram(law, state, changes),
    h("p", { class: "soft", "data-testid": "next-moves" }, next.length
      ? `From here: ${next.map(([event, after]) => `${event.replaceAll("_", " ")} → ${after}`).join(", ")}.`
      : "A final state."));
}
