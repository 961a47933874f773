/** Starts a mockserver that ends with this process, or joins the one that MOCKSERVER_URL names. */
import { spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync } from "node:fs";
import { Agent, request as requestHttp } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** The version of the server that this client was made for: major and minor must be the same. */
export const VERSION = "0.1";

const START_MILLISECONDS = 30_000;
const HOW_TO_GET_IT =
  "Get it: pipx install /path/to/mockserver, its checkout or its wheel (needs Python 3.11 or later). " +
  "MOCKSERVER_COMMAND names another command, MOCKSERVER_URL a server that runs already.";
const agent = new Agent({ keepAlive: true });

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} text
 */

export class Server {
  /**
   * @param {string} url without a slash at its end
   * @param {import("node:child_process").ChildProcess} [child] when it was started here
   * @param {string} [log] the path of what it prints
   */
  constructor(url, child, log) {
    this.url = url;
    this.child = child;
    this.log = log;
  }

  /** Whether it was there before. */
  get joined() {
    return this.child === undefined;
  }

  /**
   * One request.
   * @param {string} method
   * @param {string} path with its query
   * @param {Record<string, string>} headers
   * @param {string} [body]
   * @returns {Promise<Answer>}
   */
  async send(method, path, headers, body) {
    try {
      return await sent(this.url + path, method, headers, body);
    } catch (problem) {
      throw new Error(this.#lost(problem), { cause: problem });
    }
  }

  /** @param {unknown} problem */
  #lost(problem) {
    const child = this.child;
    if (child === undefined) return `no mockserver answers at ${this.url} (MOCKSERVER_URL): ${problem}`;
    const printed = this.log === undefined ? "" : readFileSync(this.log, "utf8").slice(-2000);
    const how = child.signalCode ?? child.exitCode;
    return `the mockserver has ended or does not answer (${how ?? "running"}): ${problem}\n${printed}`;
  }

  /** Ends it, when it was started here. */
  stop() {
    this.child?.kill();
  }
}

/**
 * @param {string} url
 * @param {string} method
 * @param {Record<string, string>} headers
 * @param {string} [body]
 * @returns {Promise<Answer>}
 */
function sent(url, method, headers, body) {
  return new Promise((resolve, reject) => {
    const request = requestHttp(url, { method, headers, agent }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      answer.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

/**
 * Starts a server on a free port and waits until it is ready.
 * @param {string[]} [args] options of `mockserver serve`, such as ["--strict"]
 */
export async function startServer(args = []) {
  const folder = mkdtempSync(join(tmpdir(), "mockserver-"));
  const [portFile, log] = [join(folder, "port"), join(folder, "log")];
  // An empty one names no command, as if it were not set.
  const [command = "mockserver", ...words] = (process.env["MOCKSERVER_COMMAND"]?.trim() || "mockserver").split(/\s+/);
  const output = openSync(log, "w");
  const options = ["serve", "--tether", "--port", "0", "--port-file", portFile, ...args];
  const child = spawn(command, [...words, ...options], {
    stdio: ["pipe", output, output],
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MOCKSERVER_"))),
  });
  /** @type {Error | undefined} */
  let failed;
  child.on("error", (problem) => (failed = problem));
  // Neither keeps this process from ending; when it ends, however that is, the pipe closes and the server stops.
  child.unref();
  /** @type {any} */ (child.stdin)?.unref?.();
  process.on("exit", () => child.kill());
  for (const end = Date.now() + START_MILLISECONDS; Date.now() < end; await pause(10)) {
    if (failed) throw new Error(`cannot start ${command}: ${failed.message}. ${HOW_TO_GET_IT}`);
    if (child.exitCode !== null) break;
    const port = read(portFile);
    if (port) return new Server(`http://127.0.0.1:${port}`, child, log);
  }
  child.kill();
  throw new Error(`${command} ${args.join(" ")} did not start: ${read(log)}`);
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

/**
 * Joins a server that runs already.
 * @param {string} url
 */
export async function joinServer(url) {
  const server = new Server(url.replace(/\/+$/, ""));
  const { text } = await server.send("GET", "/healthz", {});
  const found = /"version":\s*"([^"]*)"/.exec(text)?.[1];
  if (found?.split(".").slice(0, 2).join(".") !== VERSION) {
    const what = found === undefined ? "no mockserver, or an old one," : `mockserver ${found}`;
    throw new Error(`${what} answers at ${url} (MOCKSERVER_URL), wanted version ${VERSION}: stop it, or update it`);
  }
  return server;
}

/** @type {Promise<Server> | undefined} */
let shared;

/**
 * The server of this process: that of MOCKSERVER_URL, else one that is started when it is first asked for.
 * @param {string[]} [args]
 */
export function sharedServer(args) {
  const url = process.env["MOCKSERVER_URL"]?.trim();
  shared ??= url ? joinServer(url) : startServer(args);
  return shared;
}
