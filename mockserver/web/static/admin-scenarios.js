// Scenarios and their rules with counters; the assumptions of the sandbox.
import { api } from "./admin-api.js";
import { h, clear, say, table } from "./admin-dom.js";

const EXAMPLE = `version: 1
name: declined-twice
rules:
  - id: twice
    when: {op: charge.create}
    sequence:
      - {decline: insufficient_funds, times: 2}
`;

export function scenarios(panel, count) {
  const files = h("div", {});
  const rules = h("div", {});
  const text = h("textarea", { id: "scenario-text", rows: 12, spellcheck: "false", placeholder: EXAMPLE, "data-testid": "scenario-text" });
  panel.append(h("div", { class: "columns" },
    h("section", {}, h("h2", {}, "In force"), files, h("h2", {}, "Rules, in the order of asking"), rules),
    h("section", {},
      h("h2", {}, h("label", { for: "scenario-text" }, "Load a scenario")), text,
      h("p", { class: "actions" },
        h("button", { class: "primary", onclick: () => load("POST"), "data-testid": "scenario-add" }, "Add"),
        h("button", { onclick: () => load("PUT"), "data-testid": "scenario-replace" }, "Replace all"),
        h("button", { onclick: () => drop(), "data-testid": "scenario-clear" }, "Clear all"),
        h("button", { class: "quiet", onclick: () => { text.value = EXAMPLE; text.focus(); }, "data-testid": "scenario-example" }, "Example")),
      h("p", { class: "soft" }, "YAML or JSON. A file with a fault changes nothing, and says line and column."))));

  async function load(method) {
    try {
      await api(method, "/__admin/scenarios", text.value, { type: "application/yaml" });
      say("");
      await draw();
    } catch (problem) {
      say(problem.message);
    }
  }

  async function drop(name) {
    try {
      await api("DELETE", `/__admin/scenarios${name ? `?name=${encodeURIComponent(name)}` : ""}`);
      say("");
      await draw();
    } catch (problem) {
      say(problem.message);
    }
  }

  async function draw() {
    try {
      const [known, report] = await Promise.all([api("GET", "/__admin/scenarios"), api("GET", "/__admin/rules")]);
      count(known.scenarios.length);
      clear(files).append(table(["Name", "Rules", "Description", ""], known.scenarios.map((one) => [
        h("b", {}, one.name), String(one.rules), one.description || "",
        one.builtIn ? h("span", { class: "soft" }, "built in") : h("button", { class: "small", onclick: () => drop(one.name) }, "Remove"),
      ]), "scenario-files"));
      clear(rules).append(table(["Rule", "Stage", "Asked", "Fired", "Left", ""], report.rules.map((rule) => [
        h("b", { title: `${rule.file}:${rule.line}` }, rule.id), rule.stage, String(rule.calls), String(rule.hits), rule.left === null ? "" : String(rule.left),
        rule.expectationMet === false ? h("span", { class: "badge s-4" }, "not yet as expected") : rule.alive ? "" : h("span", { class: "soft" }, "used up"),
      ]), "rules"));
    } catch (problem) {
      say(problem.message);
    }
  }

  draw();
  return { news: draw };
}

export function assumptions(panel, count) {
  const rows = h("div", {});
  const filter = h("input", { type: "search", placeholder: "filter", "aria-label": "Filter assumptions", "data-testid": "assumption-filter", oninput: () => paint() });
  const profile = h("span", { class: "tag", "data-testid": "profile" });
  let all = [];
  panel.append(h("section", { class: "wide" },
    h("h2", {}, "What the service document leaves open, and how it is settled here ", profile),
    h("div", { class: "bar" }, filter), rows));

  async function change(key, value) {
    try {
      show(await api("PUT", "/__admin/assumptions", { [key]: value }));
      say("");
    } catch (problem) {
      say(problem.message);
      paint();
    }
  }

  function field(row) {
    const input = h("input", { value: String(row.value), "aria-label": row.key, title: `allowed: ${row.allowed}`, "data-testid": `assume-${row.key}` });
    input.addEventListener("change", () => change(row.key, input.value));
    return h("span", { class: "pair" }, input, row.changed ? h("button", { class: "small", onclick: () => change(row.key, null), "data-testid": `back-${row.key}` }, "Back") : null);
  }

  function paint() {
    const word = filter.value.toLowerCase();
    clear(rows).append(table(["Key", "Question", "Value", "Allowed", "Rests on"], all
      .filter((row) => `${row.key} ${row.question} ${row.evidence}`.toLowerCase().includes(word))
      .map((row) => [h("code", {}, row.key), row.question, field(row), h("span", { class: "soft" }, row.allowed), h("span", { class: "soft" }, row.evidence)]), "assumptions"));
  }

  function show(got) {
    all = got.assumptions.map((row) => ({ ...row, changed: String(row.value) !== String(row[got.profile]) }));
    profile.textContent = `profile ${got.profile}`;
    const changed = all.filter((row) => row.changed).length;
    count(changed || "");
    paint();
  }

  api("GET", "/__admin/assumptions").then(show).catch((problem) => say(problem.message));
  return {};
}
