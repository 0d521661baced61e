/** Node.js itself loads the tests (test/support/jest); types are checked by `npm run check:types`. */
export default {
  testEnvironment: '<rootDir>/test/support/jest/environment.ts',
  runtime: '<rootDir>/test/support/jest/runtime.ts',
  injectGlobals: false,
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // `npm run test:engines`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/engines/'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  transform: {},
  // Only what hangs may take so long: other work on the machine makes every test several times slower.
  testTimeout: 300_000,
  // Tests of faults mostly wait, so there are more than processors.
  maxWorkers: 3,
  // Jest keeps the modules of every test file that a process has run: a large heap makes all tests slower.
  workerIdleMemoryLimit: '1200MB',
  // The default of 500 ms is too short on a busy machine, and then says that tests leak.
  workerGracefulExitTimeout: 15_000,
};
