// The control page: which sandbox is shown, its clock, its tabs. Each view is a module of its own.
import { api, chosen, choose, follow, adminToken } from "./admin-api.js";
import { h, clear, say } from "./admin-dom.js";
import { requests } from "./admin-requests.js";
import { objects } from "./admin-objects.js";
import { webhooks, inbox } from "./admin-webhooks.js";
import { findings, forget, learn, refresh } from "./admin-findings.js";
import { scenarios, assumptions } from "./admin-scenarios.js";

const VIEWS = { requests, objects, webhooks, inbox, findings, scenarios, assumptions };
const byId = (id) => document.getElementById(id);
let view = null;
let followed = null;
let stopFollowing = () => {};
let clock = { base: 0, at: 0, rate: 0 };

function tabs() {
  const bar = clear(byId("tabs"));
  for (const name of Object.keys(VIEWS)) {
    bar.append(h("button", {
      role: "tab", id: `tab-${name}`, "data-testid": `tab-${name}`, "aria-controls": "view", onclick: () => go(name),
    }, name[0].toUpperCase() + name.slice(1), h("span", { class: "count", id: `count-${name}` })));
  }
  bar.addEventListener("keydown", (event) => {
    const all = [...bar.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
}

function go(name) {
  if (location.hash.slice(1).split("/")[0] !== name) location.hash = name;
  else show();
}

function show() {
  const [name, ...rest] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const wanted = VIEWS[name] ? name : "requests";
  for (const tab of byId("tabs").children) {
    const on = tab.id === `tab-${wanted}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
  }
  byId("view").setAttribute("aria-labelledby", `tab-${wanted}`);
  if (view && view.name === wanted && view.open) return void view.open(...rest);
  if (view && view.close) view.close();
  const panel = clear(byId("view"));
  panel.className = `view-${wanted}`;
  if (!chosen()) {
    view = null;
    panel.append(welcome());
    return;
  }
  view = { name: wanted, ...VIEWS[wanted](panel, (count) => { byId(`count-${wanted}`).textContent = count ?? ""; }) };
  if (view.open) view.open(...rest);
}

function welcome() {
  return h("section", { class: "welcome", "data-testid": "welcome" },
    h("h1", {}, "No sandbox is open yet"),
    h("p", {}, "A sandbox opens with the first request that carries its key. Send one, and it appears here:"),
    h("pre", {}, `curl ${location.origin}/info/providers -H 'x-secretkey: sk_demo'`),
    h("p", {}, "or enter a key above. Keys are shown masked, and kept in this tab only."));
}

async function listSandboxes() {
  const { sandboxes } = await api("GET", "/__admin/sandboxes", null, { anonymous: true });
  const select = clear(byId("sandbox"));
  const here = chosen();
  for (const box of sandboxes) {
    const label = [box.name, box.key, `${box.requests ?? 0} requests`].filter(Boolean).join("  ·  ");
    select.append(h("option", { value: box.id, "data-name": box.name }, label));
  }
  if (!sandboxes.length) select.append(h("option", { value: "" }, "No sandbox yet"));
  const wanted = sandboxes.some((box) => box.id === here) ? here : sandboxes.length ? sandboxes[0].id : null;
  if (wanted && wanted === followed) select.value = wanted;
  else if (wanted) enter(wanted);
  entitle();
}

function entitle() {
  const name = byId("sandbox").selectedOptions[0]?.dataset.name;
  document.title = name ? `${name} · mockserver` : "mockserver";
}

function enter(id) {
  choose(id);
  followed = id;
  byId("sandbox").value = id;
  entitle();
  stopFollowing();
  if (view && view.close) view.close();
  view = null;
  forget();
  for (const count of document.querySelectorAll(".count")) count.textContent = "";
  show();
  stopFollowing = follow(id, news, live);
}

function live(state) {
  byId("live").textContent = state;
  byId("live").dataset.state = state;
}

function news(event) {
  byId("clock").hidden = false;
  const running = { real: 1, fast: event.rate, manual: 0 }[event.mode];
  clock = { base: Date.parse(event.now), at: performance.now(), rate: running };
  byId("mode").textContent = event.mode === "fast" ? `fast ×${event.rate}` : event.mode;
  byId("freeze").textContent = event.mode === "manual" ? "Run" : "Freeze";
  byId("clock").dataset.pending = event.pending;
  tick();
  if (view && view.news) view.news(event);
  learn(event, (many) => {
    byId("count-findings").textContent = many || "";
    refresh();
    if (view && view.list) view.list.later();
    if (view && view.update) view.update();
  });
}

function tick() {
  if (!clock.base) return;
  const now = new Date(clock.base + (performance.now() - clock.at) * clock.rate);
  const text = now.toISOString();
  byId("now").textContent = `${text.slice(0, 10)} ${text.slice(11, 19)}`;
  byId("now").dateTime = text;
}

async function moveClock(by) {
  const body = /^\d{4}-/.test(by) ? { to: by } : { by };
  try {
    const moved = await api("POST", "/__admin/clock/advance", body);
    say(moved.hint || (moved.ran ? `${moved.ran} due ${moved.ran === 1 ? "thing" : "things"} happened` : ""), "info");
    byId("to").value = "";
  } catch (problem) {
    say(problem.message);
  }
}

byId("clock").addEventListener("click", (event) => {
  const by = event.target.dataset && event.target.dataset.by;
  if (by) moveClock(by);
});
byId("jump").addEventListener("submit", (event) => {
  event.preventDefault();
  if (byId("to").value.trim()) moveClock(byId("to").value.trim());
});
byId("freeze").addEventListener("click", async () => {
  const mode = byId("freeze").textContent === "Run" ? "real" : "manual";
  try {
    await api("PUT", "/__admin/clock", { mode });
  } catch (problem) {
    say(problem.message);
  }
});
byId("sandbox").addEventListener("change", () => enter(byId("sandbox").value));
byId("chooser").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = byId("key").value.trim();
  if (!key) return;
  byId("key").value = "";
  try {
    const mine = await api("GET", "/__admin/sandbox", null, { secret: key });
    choose(mine.id);
    await listSandboxes();
  } catch (problem) {
    say(problem.message);
  }
});
window.addEventListener("hashchange", show);
window.addEventListener("pagehide", () => stopFollowing());
setInterval(tick, 250);

async function begin() {
  try {
    await listSandboxes();
  } catch (problem) {
    if (problem.status === 401 && adminToken()) return void begin();
    say(problem.message);
  }
  follow(null, () => listSandboxes().catch((problem) => say(problem.message)), (state) => {
    if (!chosen()) live(state);
  });
}
tabs();
show();
begin();
