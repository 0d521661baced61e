/** All tests in one run, as `.ci/run` starts them: whatever waits, another test has the processor. */
import base from './jest.config.mjs';

export default {
  ...base,
  // Containers and brokers, which take minutes and mostly wait, come beside the others.
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 4,
  testSequencer: '<rootDir>/test/support/jest/sequencer.ts',
};
