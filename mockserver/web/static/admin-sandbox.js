// The sandbox as a whole: name, export, import, fork, compare, verify, reset with undo.
import { api, chosen } from "./admin-api.js";
import { h, clear, say, act, table, route, calmly } from "./admin-dom.js";
import { forkForm } from "./admin-entry.js";

const EXPECTED = `{"requests": [{"op": "charge.create", "count": {"min": 1}}], "rules": true, "findings": "error"}`;

export function sandboxView(panel, count, box) {
  const facts = h("div", {});
  const name = h("input", { "aria-label": "Name of this sandbox", placeholder: "a name for people", maxlength: 100, "data-testid": "sandbox-name" });
  const rename = act("Name it", async () => { await api("PUT", "/__admin/sandbox", { name: name.value.trim() }); say("Named.", "info"); }, { "data-testid": "sandbox-rename" });
  const undoButton = (attributes) => act("Undo", async () => { await api("POST", "/__admin/undo"); undo.hidden = true; say("Everything is back, journal and all.", "info"); }, attributes);
  const undo = undoButton({ "data-testid": "undo", hidden: true });

  async function draw() {
    try {
      const one = await api("GET", "/__admin/sandbox");
      if (document.activeElement !== name) name.value = one.name || "";
      clear(facts).append(table(["What", "Value"], [["Id", one.id], ["Secret key", one.key], ["Public key", one.publicKey], ["Profile", one.profile], ["Scenarios", one.scenarios.join(", ") || "none"], ["Requests", String(one.requests)], ["Due later", String(one.pending)]], "facts"));
    } catch (problem) {
      clear(facts).append(h("p", { class: "wrong" }, problem.message));
    }
  }

  async function reset() {
    await api("POST", "/__admin/reset?undo=true");
    undo.hidden = false;
    say("The sandbox is empty. Its old content is kept for one undo. ", "info", undoButton({ class: "small", "data-testid": "undo-now" }));
  }

  async function sample() {
    const { calls } = await api("POST", "/__admin/scenarios/setup", { shipped: "sample-shop" });
    say(`${calls.length} requests were sent. `, "info", h("a", { href: route("requests") }, "See them"));
  }

  function ask() {
    say("The sandbox goes with all that it holds, and does not come back. ", "bad", act("Delete it", async () => {
      await api("DELETE", "/__admin/sandbox");
      await box.left();
      say("The sandbox is deleted. Its key opens a new one.", "info");
    }, { class: "small", "data-testid": "delete-now" }));
  }

  panel.append(h("div", { class: "columns" },
    h("section", {}, h("h2", {}, "This sandbox"), h("div", { class: "actions" }, name, rename), facts,
      h("h2", {}, "Sample data"), h("p", { class: "soft" }, "A morning of a shop: customers with cards, charges of every kind, a payment link, a subscription and a batch."),
      h("div", { class: "actions" }, act("Add sample data", sample, { "data-testid": "sample" })),
      h("h2", {}, "Begin anew"), h("p", { class: "soft" }, "Objects, journal and clock start again; scenarios stay. The old content is kept for one undo."),
      h("div", { class: "actions" }, act("Reset sandbox", reset, { "data-testid": "reset" }), undo, act("Delete sandbox", ask, { "data-testid": "delete" })),
      h("h2", {}, "Export and import"), h("p", { class: "soft" }, "One JSON document with objects, clock and scenarios; the journal, card numbers and ccv are left out."),
      transfer(undoButton), h("h2", {}, "Fork"), h("p", { class: "soft" }, "A copy under another key: try something there, and compare."), forkForm(null, box)),
    h("section", {}, h("h2", {}, "Compare with another sandbox"), comparison(box), h("h2", {}, "Verify"), verification())));
  const later = calmly(draw);
  later.soon();
  return { news: later.soon, close: later.stop };
}

const LINES = "application/x-ndjson";

// Whether the first line of a document is whole, and others follow; a long document of an earlier version is one line.
function isLines(text) {
  return text.length > 9_000_000 || /^[^\n]+\}\r?\n\{/.test(text);
}

function transfer(undoButton) {
  const file = h("input", { type: "file", accept: "application/json,.ndjson", class: "hidden", id: "import-file", "data-testid": "import-file", onchange: async () => {
    try {
      const text = await file.files[0].text();
      await api("PUT", "/__admin/state?undo=true", text, { type: isLines(text) ? LINES : "application/json" });
      say("Imported. ", "info", undoButton({ class: "small", "data-testid": "undo-import" }));
    } catch (problem) {
      say(problem.message);
    } finally {
      file.value = "";
    }
  } });
  return h("div", { class: "actions" }, act("Export", async () => {
    // A large one is answered as lines alone.
    const whole = await api("GET", "/__admin/state").catch((problem) => { if (problem.status !== 400) throw problem; });
    const text = whole ? JSON.stringify(whole) : await api("GET", "/__admin/state", null, { accept: LINES });
    const [type, end] = whole ? ["application/json", "json"] : [LINES, "ndjson"];
    const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: `sandbox-${chosen()}.${end}` });
    link.click();
    URL.revokeObjectURL(link.href);
  }, { "data-testid": "export" }), h("label", { class: "button", for: "import-file" }, "Import"), file);
}

function comparison(box) {
  const select = h("select", { "aria-label": "The other sandbox", "data-testid": "compare-with" });
  const result = h("div", { "data-testid": "compared" });
  const fill = () => {
    const others = box.all().filter((one) => one.id !== chosen());
    clear(select).append(...others.map((one) => h("option", { value: one.id }, one.name || one.key, ` (${one.id.slice(0, 6)})`)), ...(others.length ? [] : [h("option", { value: "" }, "No other sandbox")]));
  };
  fill();
  return h("div", {}, h("div", { class: "actions" }, select, act("Compare", async () => {
    const got = await api("GET", `/__admin/compare?with=${encodeURIComponent(select.value)}`);
    clear(result).append(...differences(got));
  }, { "data-testid": "compare" })), result);
}

function text(value) { return value === null || value === undefined ? "—" : typeof value === "object" ? JSON.stringify(value) : String(value); }

function differences(got) {
  if (got.equal) return [h("p", {}, "They are equal, object by object.")];
  const facts = Object.entries(got.facts).map(([name, both]) => [name, text(both.here), text(both.there)]);
  return [facts.length ? table(["What", "Here", "There"], facts) : "", ...Object.entries(got.kinds).map(([kind, diff]) => h("details", { open: true, class: "block" },
    h("summary", {}, `${kind.replaceAll("_", " ")}: ${diff.onlyHere} only here, ${diff.onlyThere} only there, ${diff.changed} differ, ${diff.equal} equal`),
    table(["Object", "Field", "Here", "There"], [
      ...diff.onlyHereIds.map((id) => [h("a", { href: route("objects", kind, id) }, id.slice(0, 8)), "", "is here", "—"]), ...diff.onlyThereIds.map((id) => [id.slice(0, 8), "", "—", "is there"]),
      ...Object.entries(diff.changedFields).flatMap(([id, fields]) => Object.entries(fields).map(([path, both]) => [h("a", { href: route("objects", kind, id) }, id.slice(0, 8)), path, text(both.here), text(both.there)])),
    ])))];
}

function verification() {
  const wanted = h("textarea", { rows: 4, spellcheck: "false", "aria-label": "What should have happened (JSON)", "data-testid": "verify-text" }, EXPECTED);
  const result = h("div", { role: "status", "data-testid": "verified" });
  return h("div", {}, wanted, h("div", { class: "actions" }, act("Verify", async () => {
    let got;
    try {
      got = await api("POST", "/__admin/verify", wanted.value);
    } catch (problem) {
      if (problem.status !== 409) throw problem;
      got = problem.body;
    }
    clear(result).append(h("p", { class: got.verified ? "s-2" : "s-5" }, got.verified ? "Every expectation holds." : "Something does not hold:"), ...(got.differences.length ? [h("ul", { class: "rules" }, got.differences.map((one) => h("li", {}, one)))] : []),
      ...got.requests.filter((one) => one.nearMisses.length).map((one) => h("div", {}, h("h3", {}, `Nearest to ${one.op}`), table(["Request", "Operation", "Mismatches"], one.nearMisses.map((miss) => [h("a", { href: route("requests", miss.entry) }, `#${miss.entry}`), miss.op, miss.differences.join("; ")])))));
  }, { class: "primary", "data-testid": "verify" })), result);
}
