export default {
  testMatch: ["<rootDir>/test/jest.test.mjs"],
  transform: {},
  globalSetup: process.env.CONTRACT_DIES || process.env.CONTRACT_TELL ? undefined : "<rootDir>/src/setup.mjs",
};
