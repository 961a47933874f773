/** Playwright Test: `test` with the fixture `mockserver`, a sandbox for each test. */
import { test as base } from "@playwright/test";
import { Sandbox } from "./sandbox.mjs";
import { sharedServer } from "./server.mjs";

export { expect } from "@playwright/test";

/**
 * @typedef {object} Fixtures
 * @property {import("./sandbox.mjs").Options} mockserverOptions what `test.use({ mockserverOptions: ... })` chooses
 * @property {Sandbox} mockserver the sandbox of the test
 */

/** @type {import("@playwright/test").TestType<import("@playwright/test").PlaywrightTestArgs &
 *   import("@playwright/test").PlaywrightTestOptions & Fixtures, import("@playwright/test").PlaywrightWorkerArgs &
 *   import("@playwright/test").PlaywrightWorkerOptions>} */
export const test = base.extend(
  /** @type {any} */ ({
    mockserverOptions: [{}, { option: true }],
    mockserver: async (
      /** @type {Fixtures} */ { mockserverOptions },
      /** @type {(sandbox: Sandbox) => Promise<void>} */ use,
      /** @type {import("@playwright/test").TestInfo} */ info,
    ) => {
      const name = [info.project.name, ...info.titlePath, info.repeatEachIndex, info.retry].join(" ");
      const sandbox = await Sandbox.open(await sharedServer(), name, mockserverOptions);
      await use(sandbox);
      let problem;
      if (info.status === info.expectedStatus) problem = await sandbox.end(mockserverOptions).catch((error) => error);
      if (info.status === info.expectedStatus && !problem) return;
      const report = await sandbox.report().catch(() => "");
      await info.attach("mockserver", { body: report, contentType: "text/plain" });
      throw new Error([problem?.message, `mockserver ${report}`].filter(Boolean).join("\n\n"));
    },
  }),
);
