import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { testTemporal, type TestTemporal } from '../../support/servers.ts';

const root = join(import.meta.dirname, '../../..');

describe("the health check of a worker's container", () => {
  let temporal: TestTemporal;
  beforeAll(async () => {
    temporal = await testTemporal();
  });

  const check = (address: string) => spawnSync(process.execPath, ['docker/worker-health.ts'], {
    cwd: root, encoding: 'utf8', timeout: 15_000,
    env: {
      ...process.env, DATABASE_URL: 'postgres://x:x@localhost/x', ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
      TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: temporal.namespace, TEMPORAL_TASK_QUEUE: temporal.taskQueue,
    },
  });

  test("fails without a worker, and for another host's worker; passes once this host's polls", async () => {
    expect(check(temporal.address).status).toBe(1);
    const connection = await Connection.connect({ address: temporal.address });
    const poll = (identity: string) =>
      connection.withDeadline(Date.now() + 4_000, () =>
        connection.workflowService.pollWorkflowTaskQueue({ namespace: temporal.namespace, taskQueue: { name: temporal.taskQueue }, identity })).catch(() => {});
    await poll('1@elsewhere');
    expect(check(temporal.address).status).toBe(1);
    await poll(`1@${hostname()}`);
    expect(check(temporal.address).status).toBe(0);
    await connection.close();
  });

  test('fails where Temporal is away', () => {
    expect(check('127.0.0.1:1').status).not.toBe(0);
  });
});
