/** What `cadenza server doctor` asks a real Temporal. */
import { expect, test } from '@jest/globals';

import { parseEnv } from '../../../config/env.ts';
import { temporalFindings } from '../../../dev/server/checks/temporal.ts';
import { testKeys } from '../../support/app.ts';
import { testTemporal } from '../../support/servers.ts';

test("Temporal's clock is compared each time, also on a queue that nobody polls", async () => {
  const { address, namespace, taskQueue } = await testTemporal();
  const parsed = parseEnv({
    DATABASE_URL: 'postgres://localhost/unused',
    ENCRYPTION_KEYS: testKeys,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_TASK_QUEUE: taskQueue,
  });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  for (let time = 0; time < 3; time++) {
    const found = await temporalFindings(parsed.env, address);
    // Both run on this machine.
    expect(found).toContainEqual({
      check: 'clock of temporal',
      status: 'ok',
      detail: 'agrees with this machine',
    });
    expect(found).toContainEqual(expect.objectContaining({ check: 'workers', status: 'error' }));
  }
});
