// Findings: what the client did wrong, its evidence, and the marks on the rows that they are about.
import { api } from "./admin-api.js";
import { h, clear, say, List, split, table, time, calmly } from "./admin-dom.js";

const WORST_FIRST = ["error", "warning", "note"];
const KINDS = { paymentMethod: "payment_method" };
const OBJECTS = ["charge", "batch", "transfer", "customer", "payment_method", "token"];
const IDS = /[0-9a-f]{32}/g;

let found = new Map();
let marked = { request: new Map(), webhook: new Map(), object: new Map() };
let heard = null;
let raised = 0;
let judges = true;
let story = 0;
let asked = {};

// Another sandbox, or a new life of this one.
export function forget() {
  story += 1;
  found = new Map();
  heard = null;
  raised = 0;
  asked = {};
  index();
}

// Fetch what was raised since the last look; `changed` is called with how many there are when anything was.
export function learn(event, changed) {
  asked = { event, changed };
  later.soon();
}

const later = calmly(async () => {
  const { event, changed } = asked;
  try {
    if (event && await look(event)) changed(found.size);
  } catch (problem) {
    say(problem.message);
  }
});

async function look({ findings: now, last }) {
  const before = [judges, found.size].join();
  if (heard && (!now || last < heard.last || now.raised < heard.raised || now.cleared !== heard.cleared)) forget();
  judges = Boolean(now);
  heard = now && { ...now, last };
  if (!now || now.raised <= raised) return before !== [judges, found.size].join();
  const mine = story;
  const got = await api("GET", `/__admin/findings?raised=${raised}`);
  if (mine !== story) return false;
  for (const one of got.findings) found.set(one.id, one);
  raised = got.raised;
  index();
  return true;
}

function index() {
  marked = { request: new Map(), webhook: new Map(), object: new Map() };
  const add = (kind, id, one) => {
    if (id === null || id === undefined) return;
    const all = marked[kind].get(String(id)) || [];
    if (!all.includes(one)) marked[kind].set(String(id), [...all, one]);
  };
  for (const one of sorted()) {
    for (const line of one.evidence) {
      add("request", line.entry, one);
      add("webhook", line.webhook, one);
      for (const id of line.line.match(IDS) || []) add("object", id, one);
    }
    for (const [kind, id] of Object.entries(one.about)) add(kind === "webhook" ? "webhook" : "object", id, one);
  }
}

function sorted() {
  const rank = (one) => WORST_FIRST.indexOf(one.severity);
  const number = (one) => Number(one.id.split("-").pop());
  return [...found.values()].sort((one, two) => rank(one) - rank(two) || two.last.localeCompare(one.last) || number(two) - number(one));
}

// The mark of a row, with the worst that was found about it: a click leads there, the row's details have the links.
export function mark(kind, id) {
  const all = marked[kind].get(String(id));
  if (!all) return null;
  const [worst] = all;
  const lead = (event) => { event.stopPropagation(); location.hash = `findings/${worst.id}`; };
  return h("span", { class: `mark f-${worst.severity}`, title: all.map((one) => one.title).join("\n"), "data-testid": "mark", onclick: lead },
    h("span", { class: "word" }, worst.severity), h("span", { class: "hidden" }, `: ${worst.title}`));
}

// A place in the details of something that shows what was found about it, kept up to date.
export function concerning(kind, id) {
  const place = h("section", { class: "block", "data-findings": kind, "data-about": id, "data-testid": "concerning" });
  fill(place);
  return place;
}

export function refresh() {
  for (const place of document.querySelectorAll("[data-findings]")) fill(place);
}

function fill(place) {
  const all = marked[place.dataset.findings].get(place.dataset.about) || [];
  const now = all.map((one) => one.id).join();
  if (place.dataset.now === now) return;
  place.dataset.now = now;
  place.hidden = !all.length;
  clear(place).append(h("h3", {}, "Findings"), h("ul", { class: "rules" }, all.map((one) => h("li", {},
    h("span", { class: `mark f-${one.severity}` }, one.severity), " ", h("a", { href: `#findings/${one.id}` }, one.title)))));
}

function about(one) {
  return Object.entries(one.about).map(([kind, id]) => `${kind} ${id}`).join(", ");
}

function subject([kind, id]) {
  const known = KINDS[kind] || kind;
  const link = kind === "webhook" ? `#webhooks/${id}` : OBJECTS.includes(known) ? `#objects/${known}/${id}` : null;
  return h("span", {}, `${kind} `, link ? h("a", { href: link }, id) : h("code", {}, id));
}

export function findings(panel) {
  let shown = null;
  let drawn = null;
  const summary = h("span", { class: "soft" });
  const list = new List({
    label: "Findings", testid: "findings", keyOf: (item) => item.id, pick: (item) => { location.hash = `findings/${item.id}`; },
    look: (item) => (item.severity === "error" ? "failed" : ""),
    draw: (item) => [
      h("span", { class: "line" }, h("span", { class: `mark f-${item.severity}` }, item.severity),
        h("span", { class: "c-path", title: `${item.title}: ${about(item)}` }, item.title),
        h("span", { class: "c-latency" }, item.count > 1 ? `×${item.count}` : "")),
      h("span", { class: "line soft" }, h("span", { class: "c-time" }, time(item.last).slice(0, 19)), h("span", { class: "c-path" }, about(item))),
    ],
  });
  const detail = split(panel, [
    h("div", { class: "bar" }, summary,
      h("button", { onclick: () => ask("POST", "/__admin/findings/finish"), "data-testid": "findings-finish", title: "Report what was left open, such as authorisations" }, "Report what is open"),
      h("button", { class: "quiet", onclick: () => ask("DELETE", "/__admin/findings"), "data-testid": "findings-clear" }, "Clear")),
    list.element,
  ], null, "findings");

  async function ask(method, path) {
    try {
      await api(method, path);
      say("");
    } catch (problem) {
      say(problem.message);
    }
  }

  function update() {
    list.set(sorted());
    summary.textContent = WORST_FIRST.map((word) => [word, [...found.values()].filter((one) => one.severity === word).length])
      .filter(([, many]) => many).map(([word, many]) => `${many} ${word}${many === 1 ? "" : "s"}`).join(", ") || "none";
    draw();
  }

  function draw() {
    const one = found.get(shown);
    const now = one ? `${one.id} ${one.count} ${one.last}` : `${found.size > 0} ${judges}`;
    if (now === drawn) return;
    drawn = now;
    clear(detail).append(...(one ? finding(one) : found.size ? [h("p", { class: "soft hint" }, "Choose a finding to see its evidence and what to do.")] : lesson()));
  }

  function open(id) {
    shown = id || null;
    detail.chosen(shown);
    if (id) list.select(id);
    draw();
  }

  update();
  return { open, update, close: () => list.watcher.disconnect() };
}

function finding(one) {
  const line = (step) => [
    h("span", { class: "pair" },
      step.entry === null ? null : h("a", { href: `#requests/${step.entry}` }, `step ${step.entry}`),
      step.webhook === null ? null : h("a", { href: `#webhooks/${step.webhook}` }, "webhook")),
    step.line,
  ];
  return [
    h("h2", { "data-testid": "finding-title" }, one.title),
    h("p", { class: "facts" }, h("span", { class: `badge f-${one.severity}`, "data-testid": "finding-severity" }, one.severity),
      h("code", {}, one.finding), ...Object.entries(one.about).map(subject),
      h("span", { "data-testid": "finding-count" }, one.count === 1 ? "once" : `${one.count} times`),
      h("span", {}, one.first === one.last ? time(one.last) : `${time(one.first)} to ${time(one.last)}`)),
    h("p", {}, one.why),
    h("section", { class: "block" }, h("h3", {}, "What to do"), h("p", { "data-testid": "finding-advice" }, one.advice)),
    h("section", { class: "block" }, h("h3", {}, "Evidence"), table(["Where", "What happened"], one.evidence.map(line), "evidence")),
  ];
}

function lesson() {
  if (!judges) return [h("p", { class: "soft hint" }, "This server reports no findings: it was started with --findings off.")];
  return [
    h("section", { class: "hint", "data-testid": "findings-lesson" },
      h("h2", {}, "Nothing was found"),
      h("p", {}, "The sandbox watches what your client does with declines, lost answers, webhooks and time. Anything that would cost money, fines or trust in production appears here, with evidence and advice."),
      h("p", {}, "To see one, load this under Scenarios, send the same charge twice, and come back:"),
      h("pre", { tabindex: "0" }, "version: 1\nname: lost-answer\nrules:\n  - id: lost\n    when: {op: charge.create}\n    limit: 1\n    then: {transport: {at: answer, reset: true}}"),
      h("p", {}, "The first answer is lost although the charge has happened. A client that sends it again without checking first charges its customer twice.")),
  ];
}
