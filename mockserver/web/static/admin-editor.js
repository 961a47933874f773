// The scenario editor: checked by the server while one types, completed from the schema, its draft kept by the browser.
import { api } from "./admin-api.js";

const PAUSE_MS = 400;

export async function openEditor(place, text, keep) {
  const [cm, schema] = await Promise.all([import("./codemirror.js"), api("GET", "/__admin/scenarios/schema")]);
  // In a shadow root its styles are adopted ones, which a strict policy allows.
  const root = place.shadowRoot || place.attachShadow({ mode: "open" });
  root.replaceChildren();
  const parent = document.createElement("div");
  root.append(parent);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const colour = (light, darker) => (dark ? darker : light);
  const check = cm.linter(async (view) => {
    const doc = view.state.doc;
    keep(doc.toString());
    if (!doc.toString().trim()) return [];
    const got = await api("POST", "/__admin/scenarios/check", doc.toString(), { type: "application/yaml" });
    const marked = (found, severity, message) => {
      const line = doc.line(Math.min(Math.max(found.line, 1), doc.lines));
      const from = Math.min(line.from + Math.max((found.column || 1) - 1, 0), line.to);
      return { from, to: Math.max(from, line.to), severity, message };
    };
    return [
      ...got.problems.map((problem) => marked(problem, "error", `${problem.path ? `${problem.path}: ` : ""}${problem.message}`)),
      ...got.warnings.map((warning) => marked(warning, "warning", warning.message)),
    ];
  }, { delay: PAUSE_MS });
  const view = new cm.EditorView({
    parent, root, doc: text,
    extensions: [
      cm.lineNumbers(), cm.highlightActiveLineGutter(), cm.highlightActiveLine(), cm.history(), cm.drawSelection(), cm.bracketMatching(), cm.indentOnInput(), cm.yaml(),
      cm.autocompletion({ override: [completions(schema)], activateOnTyping: true }), check, cm.lintGutter(),
      cm.syntaxHighlighting(cm.HighlightStyle.define([
        { tag: [cm.tags.propertyName, cm.tags.definition(cm.tags.propertyName)], color: colour("#24558f", "#90bdf5") },
        { tag: cm.tags.string, color: colour("#1c6b43", "#7fd0a5") }, { tag: [cm.tags.number, cm.tags.bool], color: colour("#8a5a00", "#e5b763") }, { tag: cm.tags.comment, color: colour("#5d646e", "#a0a7b1") },
      ])),
      cm.keymap.of([...cm.completionKeymap, ...cm.lintKeymap, ...cm.historyKeymap, ...cm.defaultKeymap]),
      cm.EditorView.contentAttributes.of({ "aria-label": "Scenario, YAML or JSON", "data-testid": "scenario-text", spellcheck: "false" }),
      cm.EditorView.theme({
        "&": { height: "22rem", fontSize: "13px", color: colour("#1d2126", "#e6e8ea"), backgroundColor: colour("#fffefb", "#1a1e22"), border: `1px solid ${colour("#8a8f98", "#727a85")}`, borderRadius: "6px" },
        ".cm-scroller": { fontFamily: "ui-monospace, SFMono-Regular, DejaVu Sans Mono, Liberation Mono, monospace" },
        "&.cm-focused": { outline: "0" },
        "& .cm-content:focus-visible": { outline: `2px solid ${colour("#1a6fd4", "#7db4ff")}`, outlineOffset: "-2px" },
        ".cm-gutters": { backgroundColor: colour("#f4f2ec", "#15181b"), color: colour("#5d646e", "#a0a7b1"), border: "0" },
        ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: colour("#efede688", "#22272c88") },
        ".cm-cursor": { borderLeftColor: colour("#1d2126", "#e6e8ea") },
        ".cm-content": { caretColor: colour("#1d2126", "#e6e8ea") },
        ".cm-tooltip": { backgroundColor: colour("#fffefb", "#1a1e22"), color: colour("#1d2126", "#e6e8ea"), maxWidth: "32rem" },
        ".cm-selectionBackground": { backgroundColor: `${colour("#cfe3d9", "#2c4a3e")} !important` },
      }, { dark }),
    ],
  });
  return {
    text: () => view.state.doc.toString(),
    put: (value) => { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } }); keep(value); view.focus(); },
    close: () => { keep(view.state.doc.toString()); view.destroy(); },
  };
}

// Keys and values that the schema allows at the cursor, by the keys that enclose it.
function completions(schema) {
  return (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const word = context.matchBefore(/[\w.]*/);
    if (word.from === word.to && !context.explicit) return null;
    const value = /([\w.]+):\s*[\w.]*$/.exec(before);
    const path = enclosing(context.state.doc, line, before);
    const nodes = walk(schema, [schema], value && !/[{,]\s*[\w.]*$/.test(before) ? [...path, value[1]] : path);
    const options = new Map();
    for (const node of nodes) {
      for (const [name, part] of Object.entries(node.properties || {})) if (!value) options.set(name, { label: name, type: "property", detail: (part.description || "").slice(0, 60), apply: `${name}: ` });
      for (const one of node.enum || (node.const !== undefined ? [node.const] : [])) options.set(String(one), { label: String(one), type: "enum" });
    }
    return options.size ? { from: word.from, options: [...options.values()], validFor: /^[\w.]*$/ } : null;
  };
}

function enclosing(doc, line, before) {
  const path = [];
  let depth = /^[\s-]*/.exec(line.text)[0].length;
  const flow = before.lastIndexOf("{") > before.lastIndexOf("}") ? /([\w.]+):\s*\{[^{}]*$/.exec(before) : null;
  if (flow) {
    path.unshift(flow[1]);
    depth = /^\s*/.exec(line.text)[0].length + 1;
    const outer = /^[\s-]*([\w.]+):/.exec(line.text);
    if (outer && outer[1] !== flow[1]) path.unshift(outer[1]);
  }
  for (let number = line.number - 1; number > 0 && depth > 0; number -= 1) {
    const text = doc.line(number).text;
    const found = /^([\s-]*)([\w.]+):\s*(?:#.*)?$/.exec(text);
    if (found && found[1].length < depth) { path.unshift(found[2]); depth = found[1].replace(/-/g, " ").length && /-/.test(found[1]) ? found[1].indexOf("-") : found[1].length; }
  }
  return path;
}

function walk(schema, nodes, path) {
  let found = flat(schema, nodes);
  for (const name of path) found = flat(schema, found.flatMap((node) => [(node.properties || {})[name], typeof node.additionalProperties === "object" ? node.additionalProperties : null].filter(Boolean)));
  return found;
}

function flat(schema, nodes, seen = new Set()) {
  return nodes.flatMap((given) => {
    if (!given || seen.has(given)) return [];
    seen.add(given);
    const node = given.$ref ? given.$ref.split("/").slice(1).reduce((at, part) => at && at[part], schema) : given;
    if (!node) return [];
    return [node, ...flat(schema, [...(given.$ref ? [node] : []), ...(node.anyOf || []), ...(node.oneOf || []), ...(node.allOf || []), ...(node.items ? [node.items] : []), ...(node.prefixItems || [])], seen)];
  });
}
