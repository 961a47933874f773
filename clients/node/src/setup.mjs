/** A global setup for Vitest, Jest and Playwright Test: one server for all workers of a run. */
import { sharedServer } from "./server.mjs";

/** Starts a server, unless MOCKSERVER_URL names one, and says where it is to all workers; what stops it again. */
export default async function setup() {
  const server = await sharedServer();
  process.env["MOCKSERVER_URL"] = server.url;
  return () => server.stop();
}
