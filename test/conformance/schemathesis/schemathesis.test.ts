import { expect, test } from '@jest/globals';

import { skip } from '../../support/outside.ts';
import { findSchemathesis, runSchemathesis } from './schemathesis.ts';

const found = await findSchemathesis();

if ('program' in found) {
  test.each(['most', 'ending-sessions'] as const)(
    'generated requests get no 5xx and only documented responses: %s',
    async (part) => {
      const { ok, output } = await runSchemathesis(found.program, { examples: 3, seed: 1, part });
      // The whole report is the message.
      expect(ok ? '' : output).toBe('');
    },
    900_000,
  );
} else {
  skip('no 5xx, nothing off its schema, nothing undeclared', `no schemathesis: ${found.missing}`);
}
