// Calls of the control API and the stream of news. A sandbox is named by its id, in the address; keys stay in this tab.
let sandbox = new URLSearchParams(location.search).get("sandbox") || sessionStorage.getItem("sandbox") || null;

export function chosen() { return sandbox; }

export function choose(id) {
  sandbox = id;
  sessionStorage.setItem("sandbox", id);
  history.replaceState(null, "", `${location.pathname}?sandbox=${encodeURIComponent(id)}${location.hash}`);
}

// The secret key of the sandbox, when the page was given it.
export function keyOf(id = sandbox) { return sessionStorage.getItem(`key-${id}`); }

export function rememberKey(id, key) { sessionStorage.setItem(`key-${id}`, key); }

export function useToken(token) { sessionStorage.setItem("admin-token", token); }

function headers({ secret, id, anonymous } = {}) {
  const given = {};
  const token = sessionStorage.getItem("admin-token");
  if (token) given["x-admin-token"] = token;
  if (secret) given["x-secretkey"] = secret;
  else if (!anonymous && (id || sandbox)) given["x-sandbox"] = id || sandbox;
  return given;
}

let received = 0;

// How many characters have been fetched so far.
export function fetched() { return received; }

export async function api(method, path, body = null, options = {}) {
  const sent = { method, headers: headers(options), cache: "no-store" };
  if (options.accept) sent.headers.accept = options.accept;
  if (method !== "GET") {
    sent.headers["content-type"] = options.type || "application/json";
    sent.body = typeof body === "string" ? body : JSON.stringify(body ?? {});
  }
  const answer = await fetch(path, sent).catch(() => { throw new Error("The server cannot be reached: it has stopped, or the network is gone."); });
  const text = await answer.text();
  received += text.length;
  let value = text;
  try { value = JSON.parse(text); } catch { /* not JSON: the text says it */ }
  if (answer.ok) return value;
  const details = value && value.details ? Object.entries(value.details).map(([name, words]) => `${name}: ${words}`).join("\n") : "";
  const problem = new Error(details || (value && value.message) || `${method} ${path} answered ${answer.status}`);
  problem.status = answer.status;
  problem.body = value;
  throw problem;
}

// Server-sent events by fetch, so that a header can name the sandbox. Asks again until the server is back, and until it
// has the sandbox. Out of sight the page listens to nothing: a browser has six connections to a server.
export function follow(id, heard, live) {
  let control = new AbortController();
  let wake = () => {};
  let isOver = false;
  let tries = 0;
  async function listen() {
    const answer = await fetch("/__admin/events-stream", { headers: headers({ id, anonymous: !id }), signal: control.signal, cache: "no-store" });
    if (answer.status === 401) {
      stop();
      live("refused");
      return false;
    }
    if (id && answer.status >= 400 && answer.status < 500) {
      live("gone");
      return true;
    }
    if (!answer.ok) throw new Error(`the stream answered ${answer.status}`);
    live("live");
    tries = 0;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return false;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const data = part.split("\n").find((line) => line.startsWith("data: "));
        if (data) heard(JSON.parse(data.slice(6)));
      }
    }
  }
  async function keepListening() {
    while (!isOver) {
      if (document.hidden) await new Promise((resolve) => { wake = resolve; });
      control = new AbortController();
      let isGone = false;
      try { isGone = await listen(); } catch { /* said below, tried again */ }
      if (isOver) return;
      if (control.signal.aborted) continue;
      if (!isGone) live("offline");
      tries += 1;
      await new Promise((resolve) => { setTimeout(resolve, Math.min(5000, 300 * tries)); });
    }
  }
  function look() {
    if (document.hidden) control.abort();
    else wake();
  }
  function stop() {
    isOver = true;
    document.removeEventListener("visibilitychange", look);
    control.abort();
  }
  document.addEventListener("visibilitychange", look);
  keepListening();
  return stop;
}
