// Scenarios in force, their rules with counters and near misses, and the editor, which is loaded when it is first shown.
import { nextPayment } from "./admin-acts.js";
import { api, keyOf } from "./admin-api.js";
import { h, clear, say, act, table, calmly, route } from "./admin-dom.js";

const EXAMPLE = `version: 1
name: declined-twice
description: The first two payments of each card are declined
rules:
  - id: twice
    when: {op: charge.create}
    sequence:
      - {decline: insufficient_funds, times: 2}
`;
const DRAFT = "scenario-draft";

export function scenarios(panel, count) {
  const files = h("div", {});
  const rules = h("div", {});
  const place = h("div", { class: "editor", "data-testid": "scenario-editor" });
  const outcome = h("div", { "data-testid": "dry-run-result", role: "status" });
  const summary = h("p", { class: "soft", role: "status", "data-testid": "scenario-summary" });
  const shipped = h("select", { "aria-label": "Begin with a shipped scenario", "data-testid": "shipped" }, h("option", { value: "" }, "Begin with …"));
  const help = h("details", { class: "tried", "data-testid": "operations" }, h("summary", {}, "What rules may name"));
  let editor = null;
  let ready = null;
  let texts = new Map();
  let shown = null;
  const later = calmly(draw, 1500);
  const send = (method) => async () => {
    await ready;
    const got = await api(method, "/__admin/scenarios", editor.text(), { type: "application/yaml" });
    summary.textContent = `Loaded.${got.notApplied ? ` Not applied, because the sandbox was used: ${got.notApplied.join(", ")}.` : ""}`;
    await draw();
  };
  panel.append(h("div", { class: "columns" },
    h("section", {}, h("h2", {}, "Editor"), h("div", { class: "actions" }, shipped, act("Example", async () => { await ready; editor.put(EXAMPLE); }, { class: "quiet", "data-testid": "scenario-example" })), place, summary,
      h("div", { class: "actions" }, act("Add", send("POST"), { class: "primary", "data-testid": "scenario-add" }), act("Replace all", send("PUT"), { "data-testid": "scenario-replace" }),
        act("Try on the journal", tryOut, { "data-testid": "dry-run" }), act("Remove all", () => drop(), { class: "quiet", "data-testid": "scenario-clear" })), outcome, help),
    h("section", {}, h("h2", {}, "What becomes of the next payment"), nextPayment(draw), h("h2", {}, "In force"), files, h("h2", {}, "Rules, in the order of asking"), rules)));

  async function begin() {
    const made = JSON.parse(sessionStorage.getItem("draft-rule"));
    sessionStorage.removeItem("draft-rule");
    const { openEditor } = await import("./admin-editor.js");
    const draft = localStorage.getItem(DRAFT) || "";
    editor = await openEditor(place, draft, (text) => localStorage.setItem(DRAFT, text));
    if (made) {
      editor.put(made.text);
      summary.textContent = `${made.summary}${draft.trim() ? " Ctrl + Z brings your draft back." : ""}`;
    }
    const got = await api("GET", "/__admin/scenarios/shipped");
    texts = new Map(got.scenarios.map((one) => [one.name, one.text]));
    shipped.append(...got.scenarios.map((one) => h("option", { value: one.name, title: one.description }, `${one.name}: ${one.description}`.slice(0, 80))));
    shipped.addEventListener("change", () => { if (shipped.value) editor.put(texts.get(shipped.value)); shipped.value = ""; });
  }

  // What rules may name is loaded when it is first opened.
  function teach() {
    help.addEventListener("toggle", async () => {
      try {
        const { operations } = await import("./admin-operations.js");
        help.append(...await operations());
      } catch (problem) {
        say(problem.message);
        teach();
      }
    }, { once: true });
  }

  async function tryOut() {
    await ready;
    const got = await api("POST", "/__admin/scenarios/dry-run", editor.text(), { type: "application/yaml" });
    clear(outcome).append(h("h3", {}, `On the ${got.entries} kept entries`), ...got.rules.map(tried));
  }

  async function drop(name) {
    await api("DELETE", `/__admin/scenarios${name ? `?name=${encodeURIComponent(name)}` : ""}`);
    await draw();
  }

  async function edit(name) {
    await ready;
    const got = await api("GET", `/__admin/scenarios/texts/${encodeURIComponent(name)}`, null, keyOf() ? { secret: keyOf() } : {});
    editor.put(got.text);
    summary.textContent = got.masked ? "Card numbers and credentials are masked here: open the sandbox by its secret key to edit them." : "";
  }

  async function near(rule, at) {
    const got = await api("POST", "/__admin/scenarios/dry-run", "");
    const one = got.rules.find((found) => found.id === rule.id);
    at.append(tried(one));
  }

  function row(rule) {
    const at = h("div", {});
    return [h("div", {}, h("b", { title: `line ${rule.line}` }, rule.id), at), rule.stage, String(rule.calls), String(rule.hits), rule.left === null ? "" : String(rule.left),
      h("span", { class: "pair" }, rule.expectationMet === false ? h("span", { class: "badge s-4" }, "not yet as expected") : rule.alive ? "" : h("span", { class: "soft" }, "used up"),
        act("Near misses", async (button) => { await near(rule, at); button.hidden = true; }, { class: "small", "data-testid": `near-${rule.id}` }))];
  }

  async function draw() {
    try {
      const [known, report] = await Promise.all([api("GET", "/__admin/scenarios"), api("GET", "/__admin/rules")]);
      count(known.scenarios.length);
      const now = JSON.stringify([known.scenarios, report]);
      if (now === shown) return;
      shown = now;
      clear(files).append(table(["Name", "Rules", "Description", "Actions"], known.scenarios.map((one) => [
        h("b", {}, one.name), String(one.rules), one.description || "",
        h("span", { class: "pair" }, act("Open", () => edit(one.name), { class: "small", "data-testid": `open-${one.name}` }), one.builtIn ? h("span", { class: "soft" }, "built in") : act("Remove", () => drop(one.name), { class: "small" })),
      ]), "scenario-files"));
      const built = new Set(known.scenarios.filter((one) => one.builtIn).map((one) => one.file));
      const heads = ["Rule", "Stage", "Asked", "Fired", "Left", "State"];
      const mine = report.rules.filter((rule) => !built.has(rule.file));
      const theirs = report.rules.filter((rule) => built.has(rule.file));
      const fired = theirs.filter((rule) => rule.hits).length;
      const wasOpen = rules.querySelector("details")?.open;
      clear(rules).append(...report.idle.map((one) => h("p", { class: "soft", "data-testid": "idle" }, one)), mine.length ? table(heads, mine.map(row), "rules") : h("p", { class: "soft" }, "None of your own yet."),
        theirs.length ? h("details", { open: Boolean(wasOpen), "data-testid": "built-in" }, h("summary", {}, `${theirs.length} built-in rules, ${fired} of them fired`), table(heads, theirs.map(row), "built-in-rules")) : "");
    } catch (problem) {
      say(problem.message);
    }
  }

  draw();
  teach();
  ready = begin().catch((problem) => say(problem.message));
  return { news: () => later.soon(), close: () => { later.stop(); if (editor) editor.close(); } };
}

function tried(rule) {
  return h("details", { class: "tried", open: true }, h("summary", {}, h("b", {}, rule.id), ` would have fired on ${rule.fired} of ${rule.concerned}`),
    rule.entries.length ? h("p", {}, "On ", ...rule.entries.flatMap((one, i) => [i ? ", " : "", h("a", { href: route("requests", one) }, `#${one}`)])) : null,
    rule.near.length ? h("ul", { class: "rules" }, rule.near.map((miss) => h("li", {}, h("a", { href: route("requests", miss.entry) }, `#${miss.entry}`), ` ${miss.op}: `,
      miss.mismatches.length ? miss.mismatches.join("; ") : "matches, but an earlier rule fired, or it was used up"))) : null);
}
