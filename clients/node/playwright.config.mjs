import { defineConfig } from "@playwright/test";

const chromium = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "test",
  testMatch: "*.spec.mjs",
  fullyParallel: true,
  workers: 2,
  timeout: 90_000,
  globalSetup: process.env["CONTRACT_DIES"] || process.env["CONTRACT_TELL"] ? undefined : "./src/setup.mjs",
  use: { launchOptions: { executablePath: chromium, args: ["--no-sandbox"] } },
});
