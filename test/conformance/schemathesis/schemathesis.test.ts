import { expect, test } from '@jest/globals';

import { findSchemathesis, runSchemathesis } from './schemathesis.ts';

const found = await findSchemathesis();

if ('program' in found) {
  test.each(['most', 'ending-sessions'] as const)('no 5xx, nothing off its schema, nothing undeclared: %s', async (part) => {
    const { ok, output } = await runSchemathesis(found.program, { examples: 3, seed: 1, part });
    // The whole of its report is the message.
    expect(ok ? '' : output).toBe('');
  }, 400_000);
} else {
  // oxlint-disable-next-line jest/no-disabled-tests -- Python and PyPI are not everywhere; the name says so
  test.skip(`skipped: schemathesis is not here (${found.missing})`, () => {
    expect(found).toBeNull();
  });
}
