/** A sandbox for each test, in node:test, Vitest and Jest. */
import { fileURLToPath } from "node:url";
import { MockserverError, Sandbox } from "./sandbox.mjs";
import { sharedServer } from "./server.mjs";

export { MockserverError, Sandbox } from "./sandbox.mjs";
export { joinServer, Server, sharedServer, startServer } from "./server.mjs";
/** @typedef {import("./sandbox.mjs").Options} Options */

/** @type {Map<string, number>} */
const runs = new Map();

/**
 * Makes a test function that gets a sandbox of its own, and fails for what its client did wrong.
 *
 *     test("pays", mockserver(async (sandbox) => { ... }));
 *     test("is declined", mockserver({ scenario: "soft-decline-then-success" }, async (sandbox) => { ... }));
 *
 * @template T
 * @param {Options | ((sandbox: Sandbox, context: T) => unknown)} options
 * @param {(sandbox: Sandbox, context: T) => unknown} [body]
 */
export function mockserver(options, body) {
  const [chosen, run] = typeof options === "function" ? [{}, options] : [options, body];
  if (run === undefined) throw new TypeError("mockserver(options, body): the body of the test is missing");
  if (run === options && body !== undefined) throw new TypeError("mockserver(options, body): the options come first");
  // Without a parameter of its own: Jest would wait for its being called.
  return async (/** @type {any[]} */ ...given) => {
    const [context] = given;
    const name = nameOf(context);
    runs.set(name, (runs.get(name) ?? 0) + 1);
    const sandbox = await Sandbox.open(await sharedServer(), `${name} ${runs.get(name)}`, chosen);
    try {
      await run(sandbox, context);
      await sandbox.end(chosen);
    } catch (problem) {
      throw await reported(sandbox, problem);
    }
  };
}

/**
 * The name of the test that runs, with its file: Vitest and node:test hand it over, Jest has it in its state.
 * @param {any} context
 */
function nameOf(context) {
  const jest = /** @type {any} */ (globalThis).expect?.getState?.();
  if (context?.task) return `${context.task.file?.name} ${context.task.suite?.name} ${context.task.name}`;
  if (context?.name) return `${process.argv[1]} ${context.fullName ?? context.name}`;
  if (jest?.currentTestName) return `${jest.testPath} ${jest.currentTestName}`;
  return fileURLToPath(import.meta.url);
}

/**
 * The same problem with the report of the sandbox behind it.
 * @param {Sandbox} sandbox
 * @param {unknown} problem
 */
async function reported(sandbox, problem) {
  const error = problem instanceof Error ? problem : new MockserverError(String(problem));
  const report = await sandbox.report().catch(() => "");
  if (!report) return error;
  const [message, stack] = [error.message, error.stack];
  error.message = `${message}\n\nmockserver ${report}\n`;
  if (stack?.includes(message)) error.stack = stack.replace(message, () => error.message);
  return error;
}
