/** One sandbox of a server: what a test asks for, each a call of the documented control API. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { known, knownNames, MockserverError } from "./refusals.mjs";

export { MockserverError } from "./refusals.mjs";

/** @typedef {import("./server.mjs").Server} Server */
/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Options
 * @property {string | Json} [scenario] a map, YAML text, the path of a file, or the name of a shipped scenario
 * @property {"documented" | "sdk"} [profile]
 * @property {string} [clock] real, manual, or the instant at which it stands
 * @property {string[]} [allow] findings that the test may have
 * @property {"off" | "note" | "warning" | "error"} [findings] the least severity that fails the test; error unless told
 * @property {() => Json[] | Promise<Json[]>} [books] gives the shop's books when the test has ended
 */

/** What {@link Options} may have. */
const OPTIONS = ["scenario", "profile", "clock", "allow", "findings", "books"];
const LEVELS = ["off", "note", "warning", "error"];

export class Sandbox {
  /** @type {string[]} */
  #invariants = [];
  #judged = false;

  /**
   * @param {Server} server
   * @param {string} secretKey
   */
  constructor(server, secretKey) {
    this.server = server;
    this.url = server.url;
    this.secretKey = secretKey;
    this.publicKey = `pk_${secretKey.slice("sk_".length)}`;
    this.clock = new Clock(this);
    this.inbox = new Inbox(this);
  }

  /**
   * The sandbox of a test: the same key in every run, so that its ids are too.
   * @param {Server} server
   * @param {string} test its name, with its file
   * @param {Options} [options]
   */
  static async open(server, test, options = {}) {
    refuseUnknown(options);
    const key = `sk_test_${createHash("sha256").update(test).digest("hex").slice(0, 32)}`;
    const sandbox = new Sandbox(server, key);
    if (server.joined) await sandbox.call("POST", "/__admin/reset", { query: { scenario: true } });
    if (options.profile) await sandbox.assume({ profile: options.profile });
    if (options.scenario !== undefined) await sandbox.scenario(options.scenario);
    if (options.clock) await sandbox.clock.start(options.clock);
    return sandbox;
  }

  /** The variables by which an application that is started for the test finds this sandbox. */
  get env() {
    return {
      MOCKSERVER_URL: this.url,
      MOCKSERVER_SECRET_KEY: this.secretKey,
      MOCKSERVER_PUBLIC_KEY: this.publicKey,
    };
  }

  /**
   * A request to the payments API with this sandbox's key.
   * @param {string} path
   * @param {RequestInit} [init]
   */
  fetch(path, init = {}) {
    const headers = { "x-secretkey": this.secretKey, "content-type": "application/json", ...init.headers };
    return fetch(this.url + path, { ...init, headers });
  }

  /**
   * A control call; what it answers.
   * @param {string} method
   * @param {string} path
   * @param {{query?: Record<string, string | number | boolean>, body?: unknown, yaml?: string}} [more]
   * @returns {Promise<any>}
   */
  async call(method, path, more = {}) {
    knownNames(`${method} ${path}`, more, ["query", "body", "yaml"]);
    const { query, body, yaml } = more;
    const { status, value } = await this.#answer(method, path, { query, body, yaml });
    if (status < 300) return value;
    throw new MockserverError(`${method} ${path} answered ${status}: ${words(value)}`, value);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{query?: Record<string, string | number | boolean> | undefined, body?: unknown, yaml?: string | undefined}} more
   */
  async #answer(method, path, { query, body, yaml }) {
    const asked = new URLSearchParams(Object.entries(query ?? {}).map(([name, value]) => [name, String(value)]));
    const headers = { "x-secretkey": this.secretKey, "content-type": `application/${yaml === undefined ? "json" : "yaml"}` };
    const sent = yaml ?? (method === "GET" ? undefined : JSON.stringify(body ?? {}));
    const { status, text } = await this.server.send(method, query ? `${path}?${asked}` : path, headers, sent);
    return { status, value: parsed(text) };
  }

  /**
   * Puts a scenario in force in the place of all others.
   * @param {string | Json} given a map, YAML text, the path of a file, or the name of a shipped scenario
   */
  async scenario(given) {
    if (typeof given !== "string") return await this.call("PUT", "/__admin/scenarios", { body: given });
    if (given.includes("\n") || given.includes(": ")) return await this.call("PUT", "/__admin/scenarios", { yaml: given });
    if (existsSync(given)) return await this.call("PUT", "/__admin/scenarios", { yaml: readFileSync(given, "utf8") });
    if (extname(given)) throw new MockserverError(`no scenario file ${given} in ${process.cwd()}`);
    return await this.call("PUT", "/__admin/scenarios", { body: { shipped: given } });
  }

  /** @param {Json} overrides of assumptions, such as {"vault.ccv_delay": "10s"} */
  assume(overrides) {
    return this.call("PUT", "/__admin/assumptions", { body: overrides });
  }

  /**
   * Waits until all conditions hold: {charge: {id, status: "SUCCESS"}}, {inbox: "shop"}.
   * @param {Json} conditions
   * @param {{timeout?: string, advance?: boolean, within?: string}} [how] with advance it moves the clock
   */
  async waitFor(conditions, how = {}) {
    const answer = await this.call("POST", "/__admin/wait", { body: { for: conditions, ...how } });
    if (answer.held) return answer;
    const reasons = Object.entries(answer.why).map(([name, why]) => `${name}: ${why}`);
    throw new MockserverError([...reasons, answer.hint].filter(Boolean).join("; "), answer);
  }

  /**
   * Checks what was asked: {op: "charge.create", where: {"request.reference": "order-1"}, count: 1}, or an operation.
   * @param {...(string | Json)} requests
   */
  async verify(...requests) {
    const { status, value } = await this.#answer("POST", "/__admin/verify", { body: { requests, rules: true } });
    if (status === 200) return;
    this.#judged = status === 409;
    throw new MockserverError(words(value), value);
  }

  /**
   * Compares what the shop believes with what was paid.
   * @param {Json[]} rows such as {reference: "order-1", paid: 20}
   * @param {Record<string, string>} [states] what the shop's own states mean
   */
  async books(rows, states = {}) {
    const found = await this.call("POST", "/__admin/books/compare", { body: { rows, states } });
    const wrong = found.findings.filter((/** @type {Json} */ row) => row["severity"] === "error");
    if (wrong.length === 0) return;
    throw new MockserverError(
      wrong.map((/** @type {Json} */ row) => `${row["finding"]}: ${row["evidence"][0]["line"]}`).join("\n"),
      found,
    );
  }

  /** @param {string} sentence must hold of the money when the test ends, such as 'net("order-1") <= 20' */
  invariant(sentence) {
    this.#invariants.push(sentence);
  }

  /**
   * What the client did wrong.
   * @param {"note" | "warning" | "error"} [severity]
   * @returns {Promise<Json[]>}
   */
  async findings(severity = "note") {
    return (await this.call("GET", "/__admin/findings", { query: { severity } })).findings;
  }

  /**
   * The newest steps of the journal, oldest first.
   * @param {Record<string, string | number>} [filters] such as {op: "charge.create"}
   * @returns {Promise<Json[]>}
   */
  async journal(filters = {}) {
    return (await this.call("GET", "/__admin/journal", { query: { limit: 1000, ...filters } })).entries;
  }

  /** Every rule with its counters. @returns {Promise<Json[]>} */
  async rules() {
    return (await this.call("GET", "/__admin/rules")).rules;
  }

  /** Empties this sandbox; its scenario stays. */
  reset() {
    return this.call("POST", "/__admin/reset");
  }

  /** Timeline, findings and books of this sandbox, as text. @returns {Promise<string>} */
  report() {
    return this.call("GET", "/__admin/report");
  }

  /**
   * Ends the test: throws for books that differ, unmet expectations of rules, broken invariants and findings.
   * @param {Options} [options]
   */
  async end(options = {}) {
    refuseUnknown(options);
    const { allow = [], findings = "error", books } = options;
    if (books) await this.books(await books());
    const least = findings === "off" ? {} : { finish: true, findings: findings === "note" ? "none" : findings };
    const body = { rules: !this.#judged, money: this.#invariants, allow, ...least };
    if (!body.rules && findings === "off" && body.money.length === 0) return;
    const { status, value } = await this.#answer("POST", "/__admin/verify", { body });
    if (status !== 200) throw new MockserverError(words(value), value);
  }
}

/** @param {Options} options */
function refuseUnknown(options) {
  knownNames("options", options, OPTIONS);
  if (options.findings !== undefined) known("findings", options.findings, LEVELS);
}

class Clock {
  /** @param {Sandbox} sandbox */
  constructor(sandbox) {
    this.sandbox = sandbox;
  }

  /** The sandbox's time. */
  async now() {
    return instant(await this.sandbox.call("GET", "/__admin/clock"));
  }

  /** @param {string} by such as "1h30m" */
  async advance(by) {
    return this.#moved({ by });
  }

  /** @param {Date | string} to */
  async to(to) {
    return this.#moved({ to: to instanceof Date ? to.toISOString() : to });
  }

  /** Stands still from now on. */
  async freeze() {
    return instant(await this.sandbox.call("PUT", "/__admin/clock", { body: { mode: "manual" } }));
  }

  /** @param {string} given real, manual, or the instant at which an unused sandbox begins and stands */
  async start(given) {
    const clock = ["real", "manual", "fast"].includes(given) ? { mode: given } : { mode: "manual", start: given };
    await this.sandbox.call("POST", "/__admin/scenarios", { body: { version: 1, name: "clock-of-the-test", clock } });
  }

  /** @param {Json} where */
  async #moved(where) {
    const moved = await this.sandbox.call("POST", "/__admin/clock/advance", { body: where });
    if (moved.hint) throw new MockserverError(moved.hint, moved);
    return instant(moved);
  }
}

class Inbox {
  /** @param {Sandbox} sandbox */
  constructor(sandbox) {
    this.sandbox = sandbox;
  }

  /** The address to give as a webhook's url. */
  async url(name = "inbox") {
    // A public key opens no sandbox.
    await this.sandbox.assume({});
    return `${this.sandbox.url}/__inbox/${encodeURIComponent(name)}?publicKey=${this.sandbox.publicKey}`;
  }

  /** What has arrived, in order. @returns {Promise<Json[]>} */
  async messages(name = "inbox") {
    return (await this.sandbox.call("GET", `/__admin/inbox/${encodeURIComponent(name)}`)).messages;
  }

  /** Forgets what has arrived. */
  clear(name = "inbox") {
    return this.sandbox.call("DELETE", `/__admin/inbox/${encodeURIComponent(name)}`);
  }
}

/** @param {Json} clock */
function instant(clock) {
  return new Date(clock["now"]);
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @param {any} body */
function words(body) {
  if (Array.isArray(body?.differences)) return body.differences.join("\n");
  const details = Object.entries(body?.details ?? {}).map(([name, text]) => `${name}: ${text}`);
  return [body?.message ?? String(body), ...details].join("\n");
}
