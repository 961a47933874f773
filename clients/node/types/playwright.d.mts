export { expect } from "@playwright/test";
/**
 * @typedef {object} Fixtures
 * @property {import("./sandbox.mjs").Options} mockserverOptions what `test.use({ mockserverOptions: ... })` chooses
 * @property {Sandbox} mockserver the sandbox of the test
 */
/** @type {import("@playwright/test").TestType<import("@playwright/test").PlaywrightTestArgs &
 *   import("@playwright/test").PlaywrightTestOptions & Fixtures, import("@playwright/test").PlaywrightWorkerArgs &
 *   import("@playwright/test").PlaywrightWorkerOptions>} */
export const test: import("@playwright/test").TestType<import("@playwright/test").PlaywrightTestArgs & import("@playwright/test").PlaywrightTestOptions & Fixtures, import("@playwright/test").PlaywrightWorkerArgs & import("@playwright/test").PlaywrightWorkerOptions>;
export type Fixtures = {
    /**
     * what `test.use({ mockserverOptions: ... })` chooses
     */
    mockserverOptions: import("./sandbox.mjs").Options;
    /**
     * the sandbox of the test
     */
    mockserver: Sandbox;
};
import { Sandbox } from "./sandbox.mjs";
