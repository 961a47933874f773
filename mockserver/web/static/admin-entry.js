// One step of the journal: the verdict in a sentence, what can be done with it, and everything that explains it.
import { api, keyOf } from "./admin-api.js";
import { h, clear, say, act, block, table, time, stateClass, route, searched, visit } from "./admin-dom.js";
import { concerning } from "./admin-findings.js";
import { webhookTable } from "./admin-webhooks.js";
import { ask, compared, comparison, pin } from "./admin-compare.js";
import { copyMenu, code, LANGUAGES, NAMES } from "./admin-copy.js";

const MOST_WEBHOOKS = 20;
const meanings = new Map();

/** Learn what operations are called: words by the name of the operation. */
export function learnMeanings(words) {
  for (const [op, meaning] of Object.entries(words)) meanings.set(op, meaning);
}

export function inWords(op) {
  if (meanings.has(op)) return meanings.get(op);
  return op.startsWith("clock.") && !["clock.advance", "clock.set"].includes(op) ? `due: ${op.slice(6).replaceAll("_", " ")}` : op.replaceAll("_", " ").replace(".", " ");
}

export function entryView(detail, box) {
  let shown = null;

  function put(parts) {
    shown = null;
    clear(detail).append(...parts.filter(Boolean));
  }

  async function open(id) {
    if (shown === id) return;
    shown = id;
    try {
      const entry = await api("GET", `/__admin/journal/${id}`);
      const kept = await Promise.all(entry.webhooks.slice(0, MOST_WEBHOOKS).map((one) => api("GET", `/__admin/webhooks/${one}`).catch(() => ({ id: one }))));
      const other = await compared(id);
      if (shown === id) draw(entry, kept, other);
    } catch (problem) {
      if (shown !== id) return;
      put([h("h2", {}, `Request ${id}`), h("p", { class: "wrong" }, problem.status === 404 ? "The journal no longer keeps it, or it belongs to another sandbox." : problem.message)]);
      shown = id;
    }
  }

  function draw(entry, kept, other) {
    const asked = entry.request;
    const bad = entry.fault || entry.status >= 400;
    clear(detail).append(...[
      h("h2", { "data-testid": "entry-title" }, asked ? `${asked.method} ${asked.path}` : inWords(entry.op)),
      h("p", { class: "facts" },
        asked ? h("span", { class: `badge ${bad ? "s-5" : "s-2"}`, "data-testid": "entry-status" }, entry.fault ? `${entry.fault.kind} at ${entry.fault.at}` : String(entry.status)) : null,
        entry.by ? h("span", { class: "badge", "data-testid": "entry-by" }, `by ${entry.by}`) : null,
        h("span", {}, inWords(entry.op)), h("span", {}, time(entry.at)), entry.latency !== "0s" ? h("span", {}, `took ${entry.latency}`) : null),
      h("p", { class: `verdict ${bad ? "bad" : ""}`, "data-testid": "verdict" }, verdict(entry)),
      actions(entry, box),
      other ? comparison(other, entry, () => draw(entry, kept)) : null,
      concerning("request", entry.id),
      decisions(entry.decisions),
      entry.events.length ? events(entry.events) : null,
      webhookTable("Webhooks that it caused", kept),
      entry.ignored.length ? block("Unknown fields", entry.ignored.join("\n"), "ignored") : null,
      block("Worth knowing", entry.warnings.length ? entry.warnings.join("\n") : null, "warnings"),
      block("Query", asked && Object.keys(asked.query).length ? asked.query : null),
      block("Request", asked ? asked.body : null, "request-body"),
      block("Answer", entry.answer, "answer-body"),
      block("Headers", asked ? asked.headers : null),
      block("Assumptions that shaped it", entry.assumptions.length ? entry.assumptions.join("\n") : null),
    ].filter(Boolean));
    detail.parentElement.scrollTop = 0;
  }

  return { open, say: put };
}

function verdict(entry) {
  const fired = entry.decisions.find((decision) => decision.rule);
  const by = fired ? `, because rule ${fired.rule} fired${fired.choice > 1 ? ` on try ${fired.choice}` : ""}` : "";
  const answer = entry.answer && typeof entry.answer === "object" ? entry.answer : {};
  if (entry.fault) return `The client was given no proper answer (${entry.fault.kind} at ${entry.fault.at})${by}.`;
  if (!entry.request) return `This ${entry.by ? "was done by hand" : "came due"} without a request${by}.`;
  if (entry.status < 400) return `Answered ${entry.status}${by || ", in the ordinary way"}.`;
  const what = entry.events.some((event) => event.what === "declined") ? "Declined" : "Refused";
  const fields = answer.code === 90 && answer.details ? `: ${Object.entries(answer.details).map(([name, text]) => `${name} ${text}`).join("; ")}` : "";
  return `${what}: ${answer.code ?? ""} ${answer.message ?? ""}${fields}${by}.`;
}

function actions(entry, box) {
  const asked = entry.request;
  const copy = copyMenu({
    ...(asked ? Object.fromEntries(Object.keys(LANGUAGES).map((one) => [NAMES[one], async () => code(one, await api("GET", `/__admin/journal/${entry.id}/request`))])) : {}),
    JSON: () => JSON.stringify(entry, null, 2), Link: () => location.href,
  });
  const fork = h("div", {});
  return h("div", { class: "acts" }, h("div", { class: "actions" },
    asked && !asked.path.startsWith("/__admin") ? act("Send again", async () => {
      const got = await api("POST", `/__admin/journal/${entry.id}/repeat`);
      say(`Sent again: ${got.status ?? "no answer"}.`, "info");
      location.hash = route("requests", got.entry, { q: searched() });
    }, { "data-testid": "again" }) : null,
    asked && !asked.path.startsWith("/__admin") ? act("Edit and send", async () => { clear(fork).append(editForm(entry.id, await api("GET", `/__admin/journal/${entry.id}/request`))); fork.querySelector("textarea").focus(); }, { "data-testid": "edit" }) : null,
    asked && entry.op !== "none" && !asked.path.startsWith("/__") ? act("Make a rule from this", () => { sessionStorage.setItem("draft-rule", JSON.stringify({ text: rule(entry), summary: "This rule matches the request that you came from. Change what it does, then add it." })); location.hash = "scenarios"; }, { "data-testid": "make-rule" }) : null,
    act("Compare", () => ask(entry.id), { "data-testid": "compare-entry" }),
    act("Fork to here", () => { clear(fork).append(forkForm(entry.id, box)); fork.querySelector("input").focus(); }, { "data-testid": "fork" }),
    copy.menu, copy.outcome), fork, copy.shown);
}

// What is left as it is shown is sent as it came: a card number that is shown as a variable, too.
function editForm(id, { body, query, method, path }) {
  const name = body === null ? "query" : "body";
  const text = h("textarea", { rows: 12, spellcheck: "false", "aria-label": `${name} of ${method} ${path}`, "data-testid": "edit-text" }, JSON.stringify(body ?? query, null, 2));
  return h("div", { class: "block" }, h("h3", {}, `The ${name} to send`), text, h("div", { class: "actions" }, act("Send", async () => {
    let given;
    try { given = JSON.parse(text.value); } catch (fault) { throw new Error(`This is not JSON: ${fault.message}`); }
    const got = await api("POST", `/__admin/journal/${id}/repeat`, { [name]: given });
    pin(id);
    location.hash = route("requests", got.entry, { q: searched() });
    say(`Sent: ${got.status ?? "no answer"}, compared with #${id}.`, "info");
  }, { class: "primary", "data-testid": "edit-send" })));
}

export function forkForm(at, box) {
  const from = h("input", { type: "password", autocomplete: "off", "data-testid": "fork-from" });
  const to = h("input", { autocomplete: "off", spellcheck: "false", "data-testid": "fork-to", value: at ? `sk_fork_${at}` : "sk_fork" });
  return h("form", { class: "inline", "data-testid": "fork-form", onsubmit: async (event) => {
    event.preventDefault();
    try {
      await api("POST", "/__admin/fork", { to: to.value.trim(), ...(at ? { at: Number(at) } : {}) }, { secret: keyOf() || from.value.trim() });
      await box.openKey(to.value.trim());
      // A copy has the objects and no journal.
      if (at) visit(route("objects"), true);
      say(`A copy${at ? `, as it was after request ${at},` : ""} is open under its own key.`, "info");
    } catch (problem) {
      say(problem.message);
    }
  } },
  keyOf() ? null : h("label", { class: "field" }, h("span", {}, "Secret key of this sandbox (a copy holds its vault)"), from),
  h("label", { class: "field" }, h("span", {}, "Secret key of the copy"), to), h("button", { class: "primary", "data-testid": "fork-go" }, at ? `Copy as of request ${at}` : "Copy"));
}

// A rule that matches such a request: its operation, and those of its values that set it apart from others.
function rule(entry) {
  const body = entry.request.body && typeof entry.request.body === "object" ? entry.request.body : {};
  const field = (name) => Object.entries(body).find(([given]) => given.toLowerCase() === name.toLowerCase())?.[1];
  const tests = ["reference", "amount", "currency"].map((name) => [name, field(name)]).filter(([, value]) => typeof value === "string" || typeof value === "number");
  const text = (value) => (typeof value === "number" ? String(value) : JSON.stringify(value));
  // What was refused never came to a provider: a rule of arrival meets it.
  const refused = entry.status >= 400 && !entry.events.length && !entry.fault;
  const charges = !refused && /^(charge|payment_method|token|customer)\.(create|capture|void|refund)$/.test(entry.op);
  const then = charges ? "{decline: insufficient_funds}" : "{transport: {at: receive, status: 503}}";
  return ["version: 1", `name: request-${entry.id}`, "rules:", `  - id: like-request-${entry.id}`, "    when:", `      op: ${entry.op}`,
    ...tests.map(([name, value]) => `      request.${name}: ${text(value)}`), `    then: ${then}`, ""].join("\n");
}

function decisions(all) {
  const fired = all.filter((decision) => decision.rule).map((decision) => h("li", { class: "fired", "data-testid": "fired" }, h("b", {}, decision.rule),
    ` fired (${decision.stage})${decision.choice > 1 ? `, try ${decision.choice}` : ""}${decision.delay !== "0s" ? `, ${decision.delay}` : ""}`));
  const lost = all.flatMap((decision) => decision.lost.map((one) => h("li", { class: "lost", "data-testid": "lost" }, h("b", {}, one.rule), ` did not: ${one.why}`)));
  return h("section", { class: "block" }, h("h3", {}, "Decision"),
    fired.length ? h("ul", { class: "rules" }, fired) : h("p", { class: "soft" }, "No rule fired: the usual outcome."),
    lost.length ? h("details", { "data-testid": "losers" }, h("summary", {}, `${lost.length} ${lost.length === 1 ? "rule" : "rules"} did not fire, and why`), h("ul", { class: "rules" }, lost)) : null);
}

function events(all) {
  return h("section", { class: "block" }, h("h3", {}, "What changed"), table(["Object", "Happened", "From", "To"], all.map((event) => [
    h("a", { href: route("objects", event.subject, event.id) }, `${event.subject} ${event.id.slice(0, 8)}`), event.what.replaceAll("_", " "), event.before || "",
    h("span", { class: stateClass(event.after) }, event.after || ""),
  ]), "changes"));
}
