// The clock of the sandbox: always in sight; moves forward and says what happened on the way; what is due next.
import { api } from "./admin-api.js";
import { h, clear, say, act, time, route, calmly } from "./admin-dom.js";

const PRESETS = ["1m", "1h", "1d", "7d", "30d", "365d"];
const byId = (id) => document.getElementById(id);
let clock = { base: 0, at: 0, rate: 0 };
let pending = 0;
let latest = { last: 0 };

export function beginClock() {
  const presets = byId("presets");
  presets.append(...PRESETS.map((by) => h("button", { type: "button", "data-testid": `advance-${by}`, onclick: () => move(by) }, by === "365d" ? "+1y" : `+${by}`)));
  byId("jump").addEventListener("submit", (event) => {
    event.preventDefault();
    if (byId("to").value.trim()) move(byId("to").value.trim());
  });
  byId("freeze").addEventListener("click", async () => {
    try {
      await api("PUT", "/__admin/clock", { mode: byId("freeze").textContent === "Run" ? "real" : "manual" });
      say("");
    } catch (problem) {
      say(problem.message);
    }
  });
  byId("pending").addEventListener("click", () => showDue(byId("due-list").hidden));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") showDue(false); });
  // Not before the click has come: what is below moves up as it closes.
  document.addEventListener("click", (event) => { if (!event.target.closest("#pending, #due-list")) showDue(false); });
  setInterval(tick, 250);
}

// A place of its own above the view, so that it covers nothing.
function showDue(shown) {
  byId("due-list").hidden = !shown;
  byId("pending").setAttribute("aria-expanded", String(shown));
  if (shown) due.soon();
}

export function setClock(event) {
  byId("clock").hidden = false;
  latest = event;
  clock = { base: Date.parse(event.now), at: performance.now(), rate: { real: 1, fast: event.rate, manual: 0 }[event.mode] };
  byId("mode").textContent = event.mode === "fast" ? `fast ×${event.rate}` : { real: "runs", manual: "stands still" }[event.mode];
  byId("mode").dataset.mode = event.mode;
  byId("freeze").textContent = event.mode === "manual" ? "Run" : "Freeze";
  pending = event.pending;
  byId("pending").textContent = pending ? `${pending} due` : "nothing due";
  if (!byId("due-list").hidden) due.soon();
  tick();
}

function tick() {
  if (!clock.base) return;
  const text = new Date(clock.base + (performance.now() - clock.at) * clock.rate).toISOString();
  const shown = `${text.slice(0, 10)} ${text.slice(11, 19)}`;
  // A text that is set is laid out and drawn anew, even the same one.
  if (byId("now").textContent !== shown) byId("now").textContent = shown;
  byId("now").dateTime = text;
}

async function move(by) {
  const body = /^\d{4}-/.test(by) ? { to: by } : { by };
  const before = { last: latest.last, tries: latest.tries };
  try {
    const moved = await api("POST", "/__admin/clock/advance", body);
    byId("to").value = "";
    showDue(false);
    await summary(before, moved);
  } catch (problem) {
    say(problem.message);
  }
}

// What happened on the way, in one line with its details: changes by kind, and the tries of webhooks.
async function summary(before, moved) {
  const [lines, hooks] = await Promise.all([
    api("GET", `/__admin/timeline?after=${before.last}&limit=500`), api("GET", `/__admin/webhooks?bodies=false&changed=${before.tries}&limit=200`),
  ]);
  const happened = new Map();
  for (const line of lines.lines) for (const event of line[9]) happened.set(event, (happened.get(event) || 0) + 1);
  const results = new Map();
  for (const hook of hooks.webhooks) {
    const end = hook.tries.at(-1);
    const outcome = `webhook ${hook.state.replace("_", " ")}${end ? ` (${end.error || end.status}, ${hook.tries.length} ${hook.tries.length === 1 ? "try" : "tries"})` : ""}`;
    results.set(outcome, (results.get(outcome) || 0) + 1);
  }
  const parts = [...happened, ...results].map(([what, many]) => (many > 1 ? `${many} × ${what}` : what));
  const came = `${moved.ran || "No"} thing${moved.ran === 1 ? "" : "s"} came due${parts.length ? ": " : moved.ran ? " and changed nothing." : "."}`;
  say(`Now ${time(moved.now).slice(0, 19)}. ${came}`, "info", h("span", { "data-testid": "summary" }, parts.slice(0, 12).join(", "), parts.length > 12 ? ` and ${parts.length - 12} more` : ""), parts.length ? ". " : "",
    parts.length ? h("a", { href: happened.size ? `#requests?q=${encodeURIComponent(`since:${before.last}`)}` : "#webhooks" }, "Show them") : "", moved.hint ? ` ${moved.hint}` : "");
}

function toTheSecond(duration) { return duration.replace(/\d+(ms|us)/g, "") || "less than 1s"; }

const due = calmly(async () => {
  const place = byId("due-list");
  try {
    const got = await api("GET", "/__admin/clock/due?limit=10");
    clear(place).append(...(got.due.length ? [h("ul", { class: "rules" }, got.due.map((one) => h("li", {},
      h("b", {}, `in ${toTheSecond(one.in)}`), ` ${one.words} `, one.kind && one.id ? h("a", { href: one.kind === "webhook" ? route("webhooks", one.id) : route("objects", one.kind, one.id) }, one.id.slice(0, 8)) : "", h("span", { class: "soft" }, ` ${time(one.at).slice(0, 19)} `),
      act("Go there", () => move(one.at.replace(/(\.\d{6})\d*Z$/, "$1Z")), { class: "small", "data-testid": "go-there" })))),
    got.pending > got.due.length ? h("p", { class: "soft" }, `and ${got.pending - got.due.length} more`) : ""] : [h("p", { class: "soft" }, "Nothing is due. Authorisations, subscriptions and batches in progress appear here.")]));
  } catch (problem) {
    clear(place).append(h("p", { class: "wrong" }, problem.message));
  }
});
