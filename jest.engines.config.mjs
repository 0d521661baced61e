/** `npm run test:engines`: tests that start a container engine on this machine. */
import base from './jest.config.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/test/engines/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
