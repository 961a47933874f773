// A request as code in several languages. Only the key that the page was opened with may be in it, else a variable; for
// a card number that is no published test number the server puts one too.
import { h, say } from "./admin-dom.js";
import { keyOf } from "./admin-api.js";

const LEFT_OUT = /^(host|user-agent|accept|accept-encoding|connection|content-length|content-type|x-secretkey|x-publickey|x-sandbox|authorization|cookie|x-admin-token)$/i;

const VARIABLE = /"\$CARD_NUMBER"/g;
const NOTES = [
  [/\bCARD_NUMBER\b/, "The card number that was sent is none of mockserver's test cards, so it is not shown: set CARD_NUMBER."],
  [/\*{3,}/, "What is written as stars was masked: put your own in its place."],
  [/\.\.\. \(\d+ (characters|bytes)\)|"\.\.\."|"\.\.\. \d+ more"/, "It was too long to be shown whole: what is missing stands as dots."],
];

export const LANGUAGES = { curl, python, php, javascript };
export const NAMES = { curl: "curl", python: "Python", php: "PHP", javascript: "JavaScript" };

function parts(request) {
  const query = new URLSearchParams(Object.entries(request.query || {}).map(([name, value]) => [name, String(value)])).toString();
  const headers = Object.entries(request.headers).filter(([name, value]) => !LEFT_OUT.test(name) && value !== "***");
  return { method: request.method, url: `${location.origin}${request.path}${query ? `?${query}` : ""}`, headers, body: request.body, key: keyOf() };
}

export function code(language, request) {
  const made = LANGUAGES[language](parts(request));
  const sign = language === "curl" || language === "python" ? "#" : "//";
  const notes = NOTES.filter(([found]) => found.test(made)).map(([, words]) => `${sign} ${words}\n`).join("");
  return language === "php" ? made.replace("<?php\n", `<?php\n${notes}`) : notes + made;
}

function quoted(text) { return `'${String(text).replaceAll("'", "'\\''")}'`; }

function curl({ method, url, headers, body, key }) {
  const lines = [`curl -X ${method} ${quoted(url)}`, key ? `-H ${quoted(`x-secretkey: ${key}`)}` : '-H "x-secretkey: $PAYFURL_SECRET_KEY"', ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)];
  if (body !== null) lines.push("-H 'content-type: application/json'", `--data-raw ${quoted(typeof body === "string" ? body : JSON.stringify(body)).replace(VARIABLE, "\"'\"$CARD_NUMBER\"'\"")}`);
  return lines.join(" \\\n  ");
}

function python({ method, url, headers, body, key }) {
  const all = [...headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)];
  return ["import os", "", "import httpx", "",
    `answer = httpx.request(${JSON.stringify(method)}, ${JSON.stringify(url)},`,
    `    headers={"x-secretkey": ${key ? JSON.stringify(key) : 'os.environ["PAYFURL_SECRET_KEY"]'}${all.map((one) => `, ${one}`).join("")}},`,
    ...(body !== null ? [`    ${typeof body === "string" ? "content" : "json"}=${pythonic(body, "    ")},`] : []), ")", "print(answer.status_code, answer.text)"].join("\n");
}

function pythonic(value, indent) {
  if (value === "$CARD_NUMBER") return 'os.environ["CARD_NUMBER"]';
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map((one) => pythonic(one, indent)).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonic(one, indent)}`).join(", ")}}`;
  return JSON.stringify(value);
}

function php({ method, url, headers, body, key }) {
  const single = (text) => `'${String(text).replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const all = [key ? single(`x-secretkey: ${key}`) : "'x-secretkey: ' . getenv('PAYFURL_SECRET_KEY')", ...headers.map(([name, value]) => single(`${name}: ${value}`)), ...(body !== null ? ["'content-type: application/json'"] : [])];
  return ["<?php", `$call = curl_init(${single(url)});`, "curl_setopt_array($call, [", `    CURLOPT_CUSTOMREQUEST => ${single(method)},`, "    CURLOPT_RETURNTRANSFER => true,",
    `    CURLOPT_HTTPHEADER => [${all.join(", ")}],`, ...(body !== null ? [`    CURLOPT_POSTFIELDS => ${single(typeof body === "string" ? body : JSON.stringify(body)).replace(VARIABLE, "\"' . getenv('CARD_NUMBER') . '\"")},`] : []), "]);", "echo curl_exec($call);"].join("\n");
}

function javascript({ method, url, headers, body, key }) {
  const all = [`"x-secretkey": ${key ? JSON.stringify(key) : "process.env.PAYFURL_SECRET_KEY"}`, ...headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`), ...(body !== null ? ['"content-type": "application/json"'] : [])];
  return [`const answer = await fetch(${JSON.stringify(url)}, {`, `  method: ${JSON.stringify(method)},`, `  headers: { ${all.join(", ")} },`,
    ...(body !== null ? [`  body: ${typeof body === "string" ? JSON.stringify(body) : `JSON.stringify(${JSON.stringify(body).replace(VARIABLE, "process.env.CARD_NUMBER")})`},`] : []), "});", "console.log(answer.status, await answer.text());"].join("\n");
}

// A menu that copies: where the browser refuses the clipboard, the text stands there to be copied by hand.
export function copyMenu(items) {
  const outcome = h("span", { class: "soft", role: "status" });
  const shown = h("pre", { tabindex: "0", hidden: true, "data-testid": "copied", "aria-label": "Copied text" });
  const menu = h("details", { class: "menu", "data-testid": "copy" }, h("summary", { role: "button" }, "Copy as"), h("div", { class: "items" },
    Object.entries(items).map(([label, make]) => h("button", { type: "button", "data-testid": `copy-${label.toLowerCase().replaceAll(" ", "-")}`, onclick: async () => {
      menu.open = false;
      try {
        shown.textContent = await make();
      } catch (problem) {
        return void say(problem.message);
      }
      shown.hidden = false;
      try {
        await navigator.clipboard.writeText(shown.textContent);
        outcome.textContent = "copied";
      } catch {
        outcome.textContent = "the browser does not allow copying here: the text is below";
      }
      setTimeout(() => { outcome.textContent = ""; }, 4000);
    } }, label))));
  return { menu, outcome, shown };
}
