// Requests: every step of the journal with the rules that fired, and why others did not.
import { api } from "./admin-api.js";
import { h, clear, say, List, split, block, table, clockTime, time, short } from "./admin-dom.js";
import { mark, concerning } from "./admin-findings.js";

const CHUNK = 2000;

function row(line) {
  return {
    id: line[0], at: line[1], method: line[2], path: line[3], op: line[4], status: line[5],
    latency: line[6], rule: line[7], fault: line[8], events: line[9],
  };
}

export function statusClass(status, fault) {
  if (fault || status === null) return "s-none";
  return `s-${Math.floor(status / 100)}`;
}

function latency(micros) {
  return micros ? `${micros >= 1000 ? Math.round(micros / 1000) : micros / 1000} ms` : "";
}

export function requests(panel, count) {
  let all = [];
  let last = 0;
  let busy = false;
  let again = false;
  let shown = null;
  const filter = h("input", {
    type: "search", placeholder: "filter by path, operation, status, rule", "aria-label": "Filter requests",
    "data-testid": "filter", oninput: () => apply(0),
  });
  const dropped = h("span", { class: "soft" });
  const list = new List({
    label: "Requests", testid: "requests", keyOf: (item) => item.id, pick: (item) => { location.hash = `requests/${item.id}`; },
    draw: (item) => [
      h("span", { class: "c-id" }, String(item.id)),
      h("span", { class: "c-time" }, clockTime(item.at)),
      h("span", { class: "c-method" }, item.method || "·"),
      h("span", { class: "c-path", title: item.path }, short(item.path) || item.op),
      mark("request", item.id),
      h("span", { class: "c-rule" }, item.rule || ""),
      h("span", { class: "c-latency" }, latency(item.latency)),
      h("span", { class: `c-status ${statusClass(item.status, item.fault)}` }, item.method ? String(item.fault || item.status) : "due"),
    ],
  });
  const detail = split(panel, [
    h("div", { class: "bar" }, filter, dropped, h("button", { onclick: reset, "data-testid": "reset" }, "Reset sandbox")),
    list.element,
  ], hint());

  function hint() {
    return h("p", { class: "soft hint" }, "Choose a request to see what was asked, what was answered and which rule decided.");
  }

  function apply(grownBy) {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (item) => {
      const text = `${item.method} ${item.path} ${item.op} ${item.status} ${item.rule || ""} ${item.events.join(" ")}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    list.set(words.length ? all.filter(fits) : all, { grownBy: words.length ? 0 : grownBy });
    count(all.length ? String(all.length) : "");
  }

  async function load() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      do {
        again = false;
        const got = await api("GET", `/__admin/timeline?after=${last}&limit=${CHUNK}`);
        if (got.last < last) { all = []; last = 0; again = true; clear(detail).append(hint()); continue; }
        const fresh = got.lines.map(row).reverse();
        all = [...fresh, ...all].filter((item) => item.id > got.dropped);
        dropped.textContent = got.dropped ? `${got.dropped} older ones dropped` : "";
        last = fresh.length ? fresh[0].id : got.last;
        apply(fresh.length);
        if (last < got.last) again = true;
      } while (again);
    } catch (problem) {
      say(problem.message);
    } finally {
      busy = false;
    }
  }

  async function reset() {
    if (!window.confirm("Empty this sandbox? Its objects, journal and clock begin anew.")) return;
    await api("POST", "/__admin/reset").catch((problem) => say(problem.message));
    await load();
  }

  async function open(id) {
    if (!id) return;
    shown = id;
    list.select(Number(id));
    try {
      const entry = await api("GET", `/__admin/journal/${id}`);
      const kept = entry.webhooks.length ? (await api("GET", "/__admin/webhooks?limit=1000")).webhooks : [];
      if (shown === id) draw(entry, kept);
    } catch (problem) {
      say(problem.message);
    }
  }

  function draw(entry, kept) {
    const asked = entry.request;
    clear(detail).append(
      h("h2", { "data-testid": "entry-title" }, asked ? `${asked.method} ${asked.path}` : entry.op),
      h("p", { class: "facts" },
        asked ? h("span", { class: `badge ${statusClass(entry.status, entry.fault)}`, "data-testid": "entry-status" }, entry.fault ? `${entry.fault.kind} at ${entry.fault.at}` : String(entry.status)) : null,
        h("span", {}, entry.op), h("span", {}, time(entry.at)),
        entry.latency !== "0s" ? h("span", {}, `took ${entry.latency}`) : null),
      concerning("request", entry.id),
      decisions(entry.decisions),
      ...(entry.events.length ? [events(entry.events)] : []),
      ...(entry.webhooks.length ? [webhooks(entry.webhooks.map((id) => kept.find((one) => one.id === id) || { id }))] : []),
      ...[
        block("Worth knowing", entry.warnings.length ? entry.warnings.join("\n") : null, "warnings"),
        block("Query", asked && Object.keys(asked.query).length ? asked.query : null),
        block("Request", asked ? asked.body : null, "request-body"),
        block("Answer", entry.answer, "answer-body"),
        block("Headers", asked ? asked.headers : null),
        block("Assumptions that shaped it", entry.assumptions.length ? entry.assumptions.join("\n") : null),
        block("Fields that no one knows", entry.ignored.length ? entry.ignored.join("\n") : null),
      ].filter(Boolean));
    detail.scrollTop = 0;
  }

  load();
  return { news: (event) => { if (event.last !== last) load(); }, open, list, close: () => list.watcher.disconnect() };
}

function decisions(all) {
  const rows = [];
  for (const decision of all) {
    if (decision.rule) rows.push(h("li", { class: "fired", "data-testid": "fired" }, h("b", {}, decision.rule), ` fired (${decision.stage})${decision.delay !== "0s" ? `, ${decision.delay}` : ""}`));
    for (const lost of decision.lost) rows.push(h("li", { class: "lost", "data-testid": "lost" }, h("b", {}, lost.rule), ` did not: ${lost.why}`));
  }
  const fired = all.filter((decision) => decision.rule).length;
  const lost = rows.length - fired;
  return h("section", { class: "block" }, h("h3", {}, "Decision"),
    fired ? h("ul", { class: "rules" }, rows.filter((item) => item.className === "fired")) : h("p", { class: "soft" }, "No rule fired: it went its ordinary way."),
    lost ? h("details", { "data-testid": "losers" }, h("summary", {}, `${lost} ${lost === 1 ? "rule" : "rules"} did not fire, and why`), h("ul", { class: "rules" }, rows.filter((item) => item.className === "lost"))) : null);
}

function webhooks(all) {
  return h("section", { class: "block" }, h("h3", {}, "Webhooks that it caused"), table(["Webhook", "Tries", "State", "Receiver"], all.map((one) => [
    one.url ? h("a", { href: `#webhooks/${one.id}` }, one.eventType) : one.id,
    (one.tries || []).map((made, number) => `${number + 1}: ${made.error || made.status}`).join(", "),
    one.state ? one.state.replace("_", " ") : "no longer kept", one.url || "",
  ]), "caused"));
}

export function events(all) {
  return h("section", { class: "block" }, h("h3", {}, "What changed"), table(["Object", "Happened", "From", "To"], all.map((event) => [
    h("a", { href: `#objects/${event.subject}/${event.id}` }, `${event.subject} ${event.id.slice(0, 8)}`), event.what, event.before || "", event.after || "",
  ]), "changes"));
}
