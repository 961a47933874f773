import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/vitest.test.mjs"],
    globalSetup: process.env.CONTRACT_DIES || process.env.CONTRACT_TELL ? [] : ["./src/setup.mjs"],
  },
});
