// The control page: which sandbox is shown and its tabs. Each view is a module of its own.
import { api, chosen, choose, follow, rememberKey, useToken } from "./admin-api.js";
import { h, clear, say, act, calmly } from "./admin-dom.js";
import { beginClock, setClock } from "./admin-clock.js";
import { beginKeys } from "./admin-keys.js";
import { requests } from "./admin-requests.js";
import { objects } from "./admin-objects.js";
import { webhooks } from "./admin-webhooks.js";
import { inbox } from "./admin-inbox.js";
import { books, sum } from "./admin-books.js";
import { findings, forget, learn, refresh } from "./admin-findings.js";
import { scenarios } from "./admin-scenarios.js";
import { assumptions } from "./admin-assumptions.js";
import { sandboxView } from "./admin-sandbox.js";

const explorations = lazily(() => import("./admin-explorations.js"), "explorations");
const VIEWS = { requests, objects, webhooks, inbox, findings, books, explorations, scenarios, assumptions, sandbox: sandboxView };
const byId = (id) => document.getElementById(id);
let view = null;
let followed = null;
let listed = [];
let isGone = false;
let last = 0;
let others = "";
let told = "";
let stopFollowing = () => {};
const box = { all: () => listed, openKey, left };

function tabs() {
  const bar = clear(byId("tabs"));
  for (const name of Object.keys(VIEWS)) {
    bar.append(h("button", {
      role: "tab", type: "button", id: `tab-${name}`, "data-testid": `tab-${name}`, "aria-controls": "view", onclick: () => go(name),
    }, name[0].toUpperCase() + name.slice(1), " ", h("span", { class: "count", id: `count-${name}` })));
  }
  bar.addEventListener("keydown", (event) => {
    const all = [...bar.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
}

function go(name) {
  if (location.hash.slice(1) !== name) location.hash = name;
  else show();
}

function show() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  const given = { q: new URLSearchParams(query).get("q") || "" };
  const wanted = VIEWS[name] ? name : "requests";
  for (const tab of byId("tabs").children) {
    const on = tab.id === `tab-${wanted}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on) tab.scrollIntoView({ block: "nearest", inline: "center" });
  }
  byId("view").setAttribute("aria-labelledby", `tab-${wanted}`);
  entitle(wanted);
  const values = { requests: 1, webhooks: 1, findings: 1, explorations: 1, objects: 2, inbox: 2 }[wanted] || 0;
  const parts = [...Array(values).keys()].map((i) => rest[i] || undefined);
  if (view && view.name === wanted && view.open) return void view.open(...parts, given);
  if (view) say("");
  if (view && view.close) view.close();
  const panel = clear(byId("view"));
  panel.className = `view-${wanted}`;
  if (!chosen() || isGone) {
    view = null;
    panel.append(welcome());
    return;
  }
  view = VIEWS[wanted](panel, (count) => { byId(`count-${wanted}`).textContent = count ?? ""; }, box);
  view.name = wanted;
  if (view.open) view.open(...parts, given);
}

// A view whose module is loaded when it is first opened: few ever do.
function lazily(load, name) {
  return (panel, count, box) => {
    let given = null;
    const lazy = { open: (...all) => { given = all; } };
    load().then((module) => {
      if (view !== lazy) return;
      Object.assign(lazy, module[name](panel, count, box));
      if (given) lazy.open(...given);
    }).catch((problem) => say(problem.message));
    return lazy;
  };
}

function welcome() {
  return h("section", { class: "welcome", "data-testid": "welcome" },
    h("h2", {}, isGone ? "This server has no such sandbox" : "No sandbox is open yet"),
    isGone ? h("p", {}, "It was deleted, or the server has restarted without --store. It is shown as soon as a request carries its key; others are in the list above.") : null,
    h("p", {}, "A sandbox opens with the first request that carries its key. Send one, and it appears here:"),
    h("pre", { tabindex: "0", "aria-label": "Command" }, `curl ${location.origin}/info/providers -H 'x-secretkey: sk_demo'`),
    h("p", {}, "or enter a key above. Keys are shown masked, and kept in this tab only."));
}

function label(one) {
  return [one.name, one.key, `${one.requests ?? 0} request${one.requests === 1 ? "" : "s"}`].filter(Boolean).join("  ·  ");
}

// The list is made anew only when others are in it: it may be open under the hand of the reader.
function offer(here, more) {
  const select = byId("sandbox-chosen");
  const ids = [here, more, ...listed.map((one) => one.id)].join();
  if (select.dataset.ids === ids) return listed.forEach(relabel);
  select.dataset.ids = ids;
  clear(select).append(...listed.map((one) => h("option", { value: one.id, "data-name": one.name }, label(one))));
  if (more) select.append(h("option", { disabled: "" }, `${more} more, used less lately`));
  if (here && !listed.some((one) => one.id === here)) select.prepend(h("option", { value: here }, `${here} (${more ? "not used recently" : "not on this server"})`));
  else if (!listed.length) select.append(h("option", { value: "" }, "No sandbox yet"));
}

function relabel(one) {
  const option = byId("sandbox-chosen").querySelector(`[value="${one.id}"]`);
  if (option && option.textContent !== label(one)) option.textContent = label(one);
}

async function listSandboxes() {
  const { count, sandboxes } = await api("GET", "/__admin/sandboxes", null, { anonymous: true });
  const more = count - sandboxes.length;
  const here = chosen();
  listed = [...sandboxes].sort((one, two) => label(one).localeCompare(label(two)));
  offer(here, more);
  const wanted = here || (sandboxes.length ? sandboxes[0].id : null);
  if (wanted && wanted === followed) byId("sandbox-chosen").value = wanted;
  else if (wanted) enter(wanted);
  entitle();
}

function entitle(name = view ? view.name : "") {
  const one = listed.find((known) => known.id === chosen());
  document.title = [name && name[0].toUpperCase() + name.slice(1), one && (one.name || one.key), "mockserver"].filter(Boolean).join(" · ");
}

function enter(id) {
  choose(id);
  followed = id;
  isGone = false;
  byId("sandbox-chosen").value = id;
  stopFollowing();
  if (view && view.close) view.close();
  view = null;
  forget();
  for (const count of document.querySelectorAll(".count")) count.textContent = "";
  show();
  sums.soon();
  stopFollowing = follow(id, news, live);
}

// The list of sandboxes alone: the news of one tell of the list, too.
function followAll() {
  followed = null;
  stopFollowing();
  stopFollowing = follow(null, sandboxes.soon, (state) => state === "refused" || live(state));
}

// The sum of the money, which the news do not tell.
const sums = calmly(async () => {
  const got = await api("GET", "/__admin/books?limit=1").catch(() => null);
  if (got) byId("count-books").textContent = sum(got.totals);
}, 10_000);

async function openKey(key) {
  const mine = await api("GET", "/__admin/sandbox", null, { secret: key });
  try {
    await api("GET", "/__admin/sandbox", null, { id: mine.id });
  } catch (problem) {
    if (problem.status === 401) throw problem;
    return void askName(mine.id, key);
  }
  await openSandbox(mine.id, key);
}

async function openSandbox(id, key) {
  rememberKey(id, key);
  choose(id);
  await listSandboxes();
  say("");
}

// The sandbox on view is deleted: another one takes its place.
async function left() {
  listed = listed.filter((one) => one.id !== chosen());
  if (listed.length) enter(listed[0].id);
  await listSandboxes();
}

// A mistyped key would open an empty sandbox and look like lost work.
function askName(id, key) {
  const name = h("input", { value: "opened by hand", "aria-label": "Name of the new sandbox", "data-testid": "new-name" });
  say("No sandbox is open with this key. ", "info", name, " ", act("Open a new one", async () => {
    await api("POST", "/__admin/sandboxes", { key, name: name.value }, { anonymous: true });
    await openSandbox(id, key);
  }, { class: "small", "data-testid": "new-open" }));
}

function live(state) {
  told = "";
  const hasToken = Boolean(sessionStorage.getItem("admin-token"));
  byId("live").textContent = { offline: "offline, trying again", refused: hasToken ? "wrong token" : "token wanted", gone: "no such sandbox" }[state] || state;
  byId("live").dataset.state = state;
  document.body.classList.toggle("stale", state === "offline");
  if (state === "refused") return askToken(hasToken);
  if (state === "gone") sandboxes.soon();
  if (state === "offline" || (state === "gone") === isGone) return;
  isGone = !isGone;
  if (view && view.close) view.close();
  view = null;
  show();
}

function news(event) {
  setClock(event);
  const { sandboxes: many, named, now, ...own } = event;
  if (others !== `${many} ${named}`) sandboxes.soon();
  others = `${many} ${named}`;
  // The view shows nothing of other sandboxes.
  if (told === JSON.stringify(own)) return;
  told = JSON.stringify(own);
  for (const one of listed) if (one.id === chosen()) relabel(Object.assign(one, { requests: event.last }));
  if (view && view.news) view.news(event);
  if (event.last !== last && (!view || view.name !== "books")) sums.soon();
  last = event.last;
  byId("count-requests").textContent = event.last || "";
  byId("count-objects").textContent = Object.values(event.objects).reduce((sum, one) => sum + one, 0) || "";
  byId("count-webhooks").textContent = event.webhooks || "";
  byId("count-inbox").textContent = event.messages || "";
  byId("count-scenarios").textContent = event.scenarios.length || "";
  learn(event, (many) => {
    byId("count-findings").textContent = many || "";
    refresh();
    if (view && view.list) view.list.later();
    if (view && view.update) view.update();
  });
}

function askToken(wrong) {
  const panel = clear(byId("view"));
  view = null;
  const input = h("input", { type: "password", autocomplete: "off", "data-testid": "token", "aria-label": "Admin token" });
  panel.append(h("form", { class: "welcome", "data-testid": "token-form", onsubmit: (event) => {
    event.preventDefault();
    useToken(input.value.trim());
    followed = null;
    begin();
  } }, h("h2", {}, "This server wants its admin token"), wrong ? h("p", { class: "wrong", role: "alert", "data-testid": "wrong-token" }, "That token was wrong.") : h("p", {}, "It was started with --admin-token. The token stays in this tab."),
  h("div", { class: "actions" }, input, h("button", { class: "primary", "data-testid": "token-use" }, "Use it"))));
  input.focus();
}

for (const event of ["pointerdown", "focus"]) byId("sandbox-chosen").addEventListener(event, () => sandboxes.soon());
byId("sandbox-chosen").addEventListener("change", () => enter(byId("sandbox-chosen").value));
byId("chooser").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = byId("key").value.trim();
  if (!key) return;
  byId("key").value = "";
  try {
    await openKey(key);
  } catch (problem) {
    say(problem.message);
  }
});
// The address names a view, so the link past the header must not change it.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("view").focus(); });
window.addEventListener("hashchange", show);
window.addEventListener("pagehide", () => stopFollowing());

const sandboxes = calmly(() => listSandboxes().catch((problem) => say(problem.message)));
async function begin() {
  try {
    await listSandboxes();
  } catch (problem) {
    if (problem.status === 401) return void askToken(Boolean(sessionStorage.getItem("admin-token")));
    say(problem.message);
  }
  if (chosen()) return;
  show();
  followAll();
}
byId("fold").addEventListener("click", () => byId("fold").setAttribute("aria-expanded", String(document.querySelector("header").classList.toggle("open"))));
tabs();
beginClock();
beginKeys({ views: Object.keys(VIEWS), go, view: () => view });
begin();
