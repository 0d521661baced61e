/** `npm run test:engines`: tests that start a container engine or message brokers on this machine. */
import base from './jest.config.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/test/engines/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
