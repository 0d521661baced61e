import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createTemporalClient } from '../../../temporal/client.ts';

test.each([20, 150, 400])(
  'a call that is repeated when its connection is closed, after %i ms, ends with an error',
  async (afterMs) => {
    // No server listens there, so the SDK repeats the call again and again.
    const client = createTemporalClient({ address: '127.0.0.1:1', namespace: 'default' });
    const call = client.workflowService.getSystemInfo({}).then(
      () => 'answered',
      (error: Error) => error.message,
    );
    await sleep(afterMs);
    await client.connection.close();
    expect(await call).toMatch(/shut down|closed|CANCELLED|Failed to connect/i);
  },
);
