import { expect, test } from '@jest/globals';

import { skip } from '../../support/outside.ts';
import { findSchemathesis, runSchemathesis } from './schemathesis.ts';

/** `SCHEMATHESIS_EXAMPLES=50 npm run conformance:schemathesis` tries more. */
const EXAMPLES = Number(process.env['SCHEMATHESIS_EXAMPLES'] ?? 1);
/** For a run that hangs: beside two other files it takes about 13 minutes. */
const TIMEOUT_MS = 30 * 60_000;
const found = await findSchemathesis();

if ('program' in found) {
  test.each(['most', 'ending-sessions'] as const)(
    'generated requests get no 5xx and only documented responses: %s',
    async (part) => {
      const { ok, output } = await runSchemathesis(found.program, { examples: EXAMPLES, seed: 1, part });
      // The whole report is the message.
      expect(ok ? '' : output).toBe('');
    },
    TIMEOUT_MS,
  );
} else {
  skip('no 5xx, nothing off its schema, nothing undeclared', `no schemathesis: ${found.missing}`);
}
