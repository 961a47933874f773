// Requests: every step of the journal in two lines, searched on the server, newest first.
import { api } from "./admin-api.js";
import { h, say, act, List, split, clockTime, short, calmly, route, visit, money, stateClass } from "./admin-dom.js";
import { mark } from "./admin-findings.js";
import { search } from "./admin-search.js";
import { entryView, inWords, learnMeanings } from "./admin-entry.js";
import { histogram } from "./admin-histogram.js";
import { lesson } from "./admin-lessons.js";

const CHUNK = 300;
const BAD = /FAIL|DECLIN|REJECT|EXPIRED|RETURN/i;

function row(line) {
  return {
    id: line[0], at: line[1], method: line[2], path: line[3], op: line[4], status: line[5],
    latency: line[6], rule: line[7], fault: line[8], events: line[9], facts: line[10] || {},
  };
}

export function failed(item) {
  return Boolean(item.fault) || item.status >= 400 || item.events.some((event) => BAD.test(event));
}

// What came of it: the refusal, or what changed.
function why({ op, facts, fault, events, rule }) {
  const parts = [];
  if (facts.code !== undefined) parts.push(h("span", { class: "code" }, `${facts.code} ${facts.message || ""}`));
  if (facts.refused) parts.push(h("span", { class: "code" }, Object.entries(facts.refused).map(([name, text]) => `${name}: ${text}`).join("; ")));
  else for (const event of events) parts.push(h("span", { class: stateClass(event) }, event.replace(`${op.split(".")[0]} `, "")));
  if (fault) parts.push(h("span", { class: "code" }, fault));
  if (rule) parts.push(h("span", { class: "c-rule" }, `rule ${rule}`));
  if (facts.ignored) parts.push(h("span", { class: "s-4" }, `unknown: ${facts.ignored.join(", ")}`));
  return parts;
}

// What has no request came due, or was done by hand on this page.
function status(item) {
  if (!item.method) return item.op.startsWith("clock.") ? "due" : "by hand";
  return String(item.fault && !(item.status >= 400) ? item.fault : item.status);
}

function draw(item) {
  const { amount, currency, reference } = item.facts;
  return [
    h("span", { class: "line" },
      h("span", { class: "c-time" }, clockTime(item.at).slice(0, 8)), h("span", { class: "c-op", title: inWords(item.op) }, item.method ? item.op : item.op.replace("clock.", "").replaceAll("_", " ")),
      h("bdi", { class: "c-path ref" }, reference || ""), mark("request", item.id), h("span", { class: "c-amount" }, amount ? `${currency || ""} ${money(amount, currency)}` : ""),
      h("span", { class: `c-status ${failed(item) ? "s-5" : item.method ? "s-2" : "s-4"}` }, status(item))),
    h("span", { class: "line soft" }, h("span", { class: "c-id" }, `#${item.id}`), h("span", { class: "c-why" }, ...separated(why(item)), " "), h("span", { class: "c-url", title: item.path }, `${item.method} ${short(item.path)}`)),
  ];
}

function separated(parts) {
  return parts.flatMap((part, i) => (i ? [" · ", part] : [part]));
}

export function requests(panel, count, box) {
  let all = [];
  let last = 0;
  let fits = 0;
  let q = "";
  let run = 0;
  let paused = false;
  let missed = 0;
  let begun = false;
  let shown = null;
  let dropped = 0;
  let isOldest = false;
  let reading = false;
  const holes = new Map();
  const summary = h("span", { class: "soft", role: "status", "data-testid": "requests-summary" });
  const bar = search({
    testid: "filter", label: "Search requests", hint: "order-5, an id, status:4xx, rule:x, code:15 …",
    examples: ["is:failed", "is:finding", "is:declined", "op:charge.create", "since:10m", "is:due"],
    leave: () => list.element.focus(),
    changed: (value) => { history.replaceState(null, "", route("requests", shown, { q: value })); detail.chosen(shown, route("requests", { q: value })); begin(value); },
  });
  const bars = histogram(() => q, (value) => bar.put(value));
  const pause = h("button", { type: "button", "aria-pressed": "false", onclick: halt, "data-testid": "pause" }, "Pause");
  const waiting = h("button", { type: "button", class: "waiting", hidden: true, onclick: () => { list.element.scrollTop = 0; }, "data-testid": "waiting" });
  const list = new List({
    label: "Requests", testid: "requests", keyOf: (item) => item.id, pick: (item, replaces) => visit(route("requests", item.id, { q }), replaces),
    dayOf: (item) => item.at.slice(0, 10), look: (item) => `${failed(item) ? "failed" : ""} ${item.id <= dropped ? "dropped" : ""}`, nearEnd: older, nearStart: newer, draw,
    above: (many) => { waiting.hidden = !many; waiting.textContent = `${many} new`; },
  });
  const detail = split(panel, [h("div", { class: "bar" }, bar.element, act("Oldest", oldest, { "data-testid": "oldest" }), pause), h("div", { class: "bar summary" }, summary, bars.element, waiting), list.element], null, "requests");
  const entry = entryView(detail, box);
  const later = calmly(fresh);

  function halt() {
    paused = !paused;
    missed = 0;
    label();
    if (isOldest) begin();
    else if (!paused) later.soon();
  }

  function label() {
    pause.textContent = paused ? `${isOldest ? "Newest" : "Resume"}${missed ? ` (${missed} new)` : ""}` : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
  }

  // The rows, and where others have been between them.
  function marked() {
    const items = all.flatMap((item) => (holes.has(item.id) ? [item, notKept(holes.get(item.id))] : [item]));
    const before = all.length ? all[all.length - 1].id - 1 : 0;
    if (!q && before && before <= dropped) items.push(notKept(before));
    return items;
  }

  function notKept(many) { return { note: `${many.toLocaleString("en")} not kept, --journal-limit` }; }

  function paint(grownBy = 0, stays = false) {
    list.set(marked(), { grownBy, stays });
    summary.textContent = q ? `${fits} of ${last} fit` : last ? `${last} so far` : "";
    if (!all.length && !shown) entry.say(q ? [h("p", { class: "soft hint" }, "Nothing fits. A hyphen before a word excludes it; operators: status op code ref rule id amount currency is since method path.")] : lesson("requests"));
    else if (!shown) entry.say([h("p", { class: "soft hint" }, "Choose a request to see what was asked, what was answered and which rule decided.")]);
  }

  async function ask(query) {
    const given = new URLSearchParams({ limit: CHUNK, ...(q ? { q } : {}), ...query });
    const got = await api("GET", `/__admin/timeline?${given}`);
    learnMeanings(got.meanings);
    return { ...got, rows: got.lines.map(row).reverse() };
  }

  async function begin(value = q) {
    q = value;
    const mine = run += 1;
    begun = false;
    try {
      const got = await ask({});
      if (mine !== run) return;
      begun = true;
      [isOldest, paused] = [false, paused && !isOldest];
      label();
      bar.problem("");
      holes.clear();
      [all, last, fits, dropped] = [got.rows, got.last, got.count, got.dropped];
      count(last || "");
      list.element.scrollTop = 0;
      paint();
      later.soon();
      bars.look.soon();
    } catch (problem) {
      if (mine !== run) return;
      [all, fits] = [[], 0];
      list.set(all);
      summary.textContent = "";
      bar.problem(problem.message.replace(/^Q: /, ""));
    }
  }

  // The oldest that are kept; those after them come as the reader scrolls up.
  async function oldest() {
    const mine = run += 1;
    const got = await ask({ after: 0 });
    if (mine !== run) return;
    [paused, missed, isOldest, begun] = [true, 0, true, true];
    holes.clear();
    [all, last, fits, dropped] = [got.rows, got.last, got.count, got.dropped];
    label();
    paint();
    list.element.scrollTop = list.element.scrollHeight;
  }

  async function newer() {
    if (!isOldest || reading || !all.length || all[0].id >= last) return;
    reading = true;
    const mine = run;
    try {
      const got = await ask({ after: all[0].id });
      if (mine !== run) return;
      all = [...got.rows, ...all];
      if (!got.rows.length) last = all[0].id;
      paint(got.rows.length, true);
    } catch (problem) {
      say(problem.message);
    } finally {
      reading = false;
    }
  }

  async function fresh() {
    if (paused || !begun) return;
    const mine = run;
    try {
      const got = await ask({ after: last });
      if (mine !== run) return;
      if (got.last < last) return void begin();
      dropped = got.dropped;
      if (!q && all.length && got.rows.length && dropped > all[0].id) holes.set(got.rows[got.rows.length - 1].id, got.rows[got.rows.length - 1].id - 1 - all[0].id);
      all = [...got.rows, ...all];
      fits += got.count;
      last = got.lines.length === CHUNK ? got.rows[0].id : got.last;
      count(last || "");
      paint(got.rows.length);
      if (last < got.last) later.soon();
    } catch (problem) {
      if (problem.status !== 400) say(problem.message);
    }
  }

  async function older() {
    if (isOldest || reading || all.length >= fits || !all.length) return;
    reading = true;
    const mine = run;
    try {
      const got = await ask({ before: all[all.length - 1].id });
      if (mine !== run) return;
      all = [...all, ...got.rows];
      if (!got.rows.length) fits = all.length;
      list.set(marked());
    } catch (problem) {
      say(problem.message);
    } finally {
      reading = false;
    }
  }

  function news(event) {
    if (event.last < last) return void begin();
    if (event.last === last || !begun) return;
    bars.look.soon();
    if (!paused) return later.soon();
    missed = event.last - last;
    label();
  }

  function open(id, given) {
    shown = id || null;
    detail.chosen(shown, route("requests", given));
    bar.set(given.q || "");
    if ((given.q || "") !== q || !run) begin(given.q || "");
    list.select(shown ? Number(shown) : null);
    if (shown) entry.open(shown);
    else paint();
  }

  return {
    news, open, list, search: bar.input,
    update: () => { if (/is:finding/.test(q)) later.soon(); },
    close: () => { later.stop(); bars.look.stop(); bar.stop(); list.watcher.disconnect(); },
  };
}
