// The assumptions of the sandbox: what the service document leaves open, and how it is settled here.
import { api } from "./admin-api.js";
import { h, clear, say, table } from "./admin-dom.js";

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
    const words = row.allowed.split(" | ");
    const given = { "aria-label": row.key, title: `allowed: ${row.allowed}`, "data-testid": `assume-${row.key}` };
    const input = words.length > 1 ? h("select", given, words.map((word) => h("option", { selected: word === String(row.value) }, word))) : h("input", { ...given, value: String(row.value) });
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
