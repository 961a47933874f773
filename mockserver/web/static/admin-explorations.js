// Explorations: what `mockserver explore` found, read from its files in the browser; nothing of them is sent anywhere.
import { api } from "./admin-api.js";
import { h, clear, say, act, List, split, block, table, route } from "./admin-dom.js";
import { lesson } from "./admin-lessons.js";

const WORST_FIRST = ["unsafe", "hung", "doubtful", "failed", "not reached", "healed", "survived"];
const CLASSES = { unsafe: "s-5", hung: "s-4", doubtful: "s-4", failed: "s-4", healed: "s-2", survived: "s-2" };
const MEANINGS = {
  unsafe: "a finding of severity error, or money that moved wrongly, whatever the exit code", hung: "the command was not done in time",
  failed: "the command ended with an error: it noticed; no money was seen to move wrongly",
  doubtful: "exit code 0, and money is less, elsewhere or held: only the books can say so (--books)",
  "not reached": "the fault never struck: the calls came otherwise", healed: "the books were wrong at first, and right when everything had settled",
  survived: "exit code 0, and the money is that of the run without the fault, or the books agree",
};
const SHORT = { unsafe: "money moved wrongly, or an error was found", hung: "not done in time", doubtful: "less money: only the books can say", failed: "ended with an error: it noticed", "not reached": "the fault never struck", healed: "wrong at first, right in the end", survived: "the money is right" };
let report = null;

// Both files of a report: report.json, and cells.jsonl, which has the findings, timelines and scenarios of the cells too.
export function read(text) {
  const lines = text.trim().split("\n");
  let rows;
  try {
    rows = [JSON.parse(text)];
  } catch {
    rows = lines.map((line, number) => {
      try { return JSON.parse(line); } catch { throw new Error(`Line ${number + 1} is no JSON: open cells.jsonl or report.json of an exploration.`); }
    });
  }
  const [head, ...rest] = rows;
  const cells = head && Array.isArray(head.cells) ? head.cells : rest;
  if (!head || !Array.isArray(head.command) || !cells.every((cell) => cell && typeof cell.point === "string" && typeof cell.fault === "string" && WORST_FIRST.includes(cell.verdict))) {
    throw new Error("This is no report of an exploration: open cells.jsonl or report.json.");
  }
  return {
    command: head.command.join(" "), seed: head.seed, coverage: head.coverage,
    cells: cells.map((cell) => ({
      ...cell, money: cell.money || [], name: cell.file || nameOf(cell), findings: (cell.findings || []).map((one) => (typeof one === "string" ? { finding: one } : one)),
      scenario: cell.timeline === undefined ? "" : cell.scenario,
    })).sort((one, two) => WORST_FIRST.indexOf(one.verdict) - WORST_FIRST.indexOf(two.verdict)),
  };
}

// The name of the file that brings it about again.
function nameOf({ point, fault }) {
  const faults = fault.split("+");
  return point.split("+").map((one, i) => `${one.replace("#", "-")}-${faults[i]}`).join("--");
}

function names(cell) { return [...new Set(cell.findings.map((one) => one.finding))].join(", "); }

function end(cell) { return cell.exit === null ? "not done in time" : `exit code ${cell.exit}`; }

export function explorations(panel, count) {
  let wanted = null;
  let word = "";
  let shown = null;
  const input = h("input", { type: "file", accept: ".json,.jsonl,application/json", class: "hidden", tabindex: "-1", "aria-label": "Report of an exploration", "data-testid": "report-file", onchange: () => take(input.files[0]) });
  const verdicts = h("div", { class: "kinds", role: "group", "aria-label": "Verdicts" });
  const filter = h("input", { type: "search", placeholder: "call, fault, finding", "aria-label": "Filter cells", "data-testid": "cell-filter", oninput: () => { word = filter.value.toLowerCase(); paint(); } });
  const summary = h("span", { class: "soft", role: "status", "data-testid": "report-summary" });
  const meaning = h("p", { class: "soft meaning", "data-testid": "verdict-meaning" });
  const list = new List({
    label: "Cells", testid: "explorations", keyOf: (cell) => cell.name, pick: (cell) => { location.hash = route("explorations", cell.name); },
    look: (cell) => (cell.verdict === "unsafe" ? "failed" : ""),
    draw: (cell) => [
      h("span", { class: "line" }, h("span", { class: "c-path" }, cell.point), h("span", { class: `c-state ${CLASSES[cell.verdict] || ""}` }, cell.verdict)),
      h("span", { class: "line soft" }, h("span", {}, cell.fault), h("span", { class: "c-path" }, [...cell.money, names(cell)].filter(Boolean).join(" · ")), h("span", {}, end(cell))),
    ],
  });
  const detail = split(panel, [h("div", { class: "bar" }, filter, act("Open a report", () => input.click(), { class: "primary", "data-testid": "report-open" }), act("Coverage", coverage, { "data-testid": "coverage-open" }), input), verdicts, meaning, h("div", { class: "bar summary" }, summary), list.element], null, "explorations");
  panel.firstElementChild.addEventListener("dragover", (event) => event.preventDefault());
  panel.firstElementChild.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]); });

  async function take(file) {
    try {
      report = read(await file.text());
      [wanted, shown] = [null, null];
      say("");
      location.hash = "explorations";
      paint();
    } catch (problem) {
      say(problem.message);
    } finally {
      input.value = "";
    }
  }

  // Of the open report, else of what all sandboxes of this server have met.
  async function coverage() {
    try {
      clear(detail).append(...map((report && report.coverage) || await api("GET", "/__admin/coverage")));
      say("");
    } catch (problem) {
      say(problem.message);
    }
  }

  function paint() {
    const all = report ? report.cells : [];
    count(all.filter((cell) => cell.verdict === "unsafe").length || "");
    clear(verdicts).append(...WORST_FIRST.filter((name) => all.some((cell) => cell.verdict === name)).map((name) => h("button", {
      type: "button", "aria-pressed": String(name === wanted), title: MEANINGS[name], "data-testid": `verdict-${name.replace(" ", "-")}`, onclick: () => { wanted = wanted === name ? null : name; paint(); },
    }, name, h("span", { class: "count" }, String(all.filter((cell) => cell.verdict === name).length)))));
    verdicts.hidden = !report;
    meaning.textContent = wanted ? `${wanted}: ${MEANINGS[wanted]}` : report ? WORST_FIRST.filter((name) => all.some((cell) => cell.verdict === name)).map((name) => `${name} = ${SHORT[name]}`).join("; ") : "";
    summary.textContent = report ? `${report.command}, seed ${report.seed}` : "";
    list.set(all.filter((cell) => (!wanted || cell.verdict === wanted) && `${cell.point} ${cell.fault} ${names(cell)}`.toLowerCase().includes(word)));
    list.select(shown);
    const cell = all.find((one) => one.name === shown);
    if (cell) clear(detail).append(...story(cell));
    else clear(detail).append(...(report ? [h("p", { class: "soft hint" }, shown ? "The open report has no such cell." : "Choose a cell to see what went wrong under that fault, and the scenario that brings it about again.")] : lesson("explorations")));
  }

  function open(name) {
    shown = name || null;
    detail.chosen(shown);
    paint();
  }

  return { open, list, search: filter, close: () => list.watcher.disconnect() };
}

// Failures down, operations across: never tried, tried, survived, unsafe; empty where a failure makes no sense.
function map({ covered, failures, percent, map: rows }) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.failures)))];
  const state = (row, name) => (name in row.failures ? h("span", { class: { unsafe: "badge s-5", survived: "badge s-2", tried: "badge" }[row.failures[name]] || "soft" }, row.failures[name] || "never tried") : "");
  return [
    h("h2", { "data-testid": "coverage-title" }, `Failures covered: ${covered} of ${failures}, ${percent} %`),
    h("p", { class: "soft hint" }, report && report.coverage ? "Those that struck in the runs of the open report." : "Those that struck in all sandboxes since the server began, of all that there are for the operations used."),
    rows.length ? table(["Failure", ...rows.map((row) => row.op)], names.map((name) => [h("code", {}, name), ...rows.map((row) => state(row, name))]), "coverage-map") : null,
  ].filter(Boolean);
}

function story(cell) {
  const again = `mockserver explore --replay explored/${cell.name}.yaml -- ${report.command}`;
  return [
    h("h2", { "data-testid": "cell-title" }, `${cell.fault} at ${cell.point}`),
    h("p", { class: "facts" }, h("span", { class: `badge ${CLASSES[cell.verdict] || ""}`, "data-testid": "cell-verdict" }, cell.verdict), h("span", {}, MEANINGS[cell.verdict]), h("span", {}, end(cell)), h("span", {}, `${cell.seconds} s`)),
    cell.scenario ? h("div", { class: "actions" }, act("Open in the editor", () => {
      sessionStorage.setItem("draft-rule", JSON.stringify({ text: cell.scenario, summary: "This scenario brings the fault about: add it, and run your test against this sandbox." }));
      location.hash = "scenarios";
    }, { class: "primary", "data-testid": "cell-edit" })) : null,
    cell.findings.length ? h("section", { class: "block" }, h("h3", {}, "Findings"), table(["Severity", "What happened", "What to do"], cell.findings.map((one) => [h("span", { class: `mark f-${one.severity}` }, one.severity || "finding"), one.title || one.finding, one.advice || ""]), "cell-findings")) : null,
    block("Money", cell.money.join("\n"), "cell-money"), block("Timeline", cell.timeline, "cell-timeline"), block("Scenario", cell.scenario, "cell-scenario"), block("What the command printed", cell.output),
    cell.verdict === "survived" ? null : block("Run it again", again, "cell-again"),
  ].filter(Boolean);
}
