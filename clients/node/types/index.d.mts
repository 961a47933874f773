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
export function mockserver<T>(options: Options | ((sandbox: Sandbox, context: T) => unknown), body?: (sandbox: Sandbox, context: T) => unknown): (/** @type {any[]} */ ...given: any[]) => Promise<void>;
export type Options = import("./sandbox.mjs").Options;
import { Sandbox } from "./sandbox.mjs";
export { MockserverError, Sandbox } from "./sandbox.mjs";
export { joinServer, Server, sharedServer, startServer } from "./server.mjs";
