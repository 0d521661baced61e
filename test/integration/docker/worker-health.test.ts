import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createTemporalClient } from '../../../temporal/client.ts';
import { until } from '../../support/platform.ts';
import { createTestDatabase, testTemporal, type TestTemporal } from '../../support/servers.ts';

/** TASK_QUEUE_TYPE_WORKFLOW */
const workflowQueue = 1;
const root = join(import.meta.dirname, '../../..');

describe('the health check of a worker container', () => {
  let temporal: TestTemporal;
  beforeAll(async () => {
    temporal = await testTemporal();
  });

  const check = (address: string, databaseUrl = 'postgres://x:x@127.0.0.1:1/x', args: string[] = []) =>
    spawnSync(process.execPath, ['docker/worker-health.ts', ...args], {
      cwd: root,
      encoding: 'utf8',
      timeout: 240_000,
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        TEMPORAL_TASK_QUEUE: temporal.taskQueue,
      },
    });

  test.each([[[]], [['sandbox']]])(
    'passes while writes are paused, when no worker polls %j',
    async (args) => {
      const database = await createTestDatabase();
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      await client.query(
        `insert into write_pause (holder, reason, until)
       values (gen_random_uuid(), 'a backup', clock_timestamp() + interval '1 hour')`,
      );
      await until(
        async () => check(temporal.address, database.url, args).status,
        (status) => status === 0,
      );
      await client.query('delete from write_pause');
      expect(check(temporal.address, database.url, args).status).toBe(1);
      await client.end();
      await database.drop();
    },
  );

  test('fails without a worker of this host, and passes once it polls', async () => {
    expect(check(temporal.address).status).toBe(1);
    const client = createTemporalClient(temporal);
    const { namespace } = temporal;
    const taskQueue = { name: temporal.taskQueue };
    /** Begins a poll, which needs a deadline. Resolves when Temporal knows the poller. */
    const poll = async (identity: string): Promise<void> => {
      const polling = { namespace, taskQueue, identity };
      void client
        .withDeadline(Date.now() + 60_000, () => client.workflowService.pollWorkflowTaskQueue(polling))
        .catch(() => {});
      const description = { namespace, taskQueue, taskQueueType: workflowQueue };
      await until(
        () => client.workflowService.describeTaskQueue(description),
        ({ pollers }) => pollers.some((poller) => poller.identity === identity),
      );
    };
    await poll('1@elsewhere');
    expect(check(temporal.address).status).toBe(1);
    await poll(`1@${hostname()}`);
    // The check gives up after five seconds, and Docker repeats it.
    await until(
      async () => check(temporal.address).status,
      (status) => status === 0,
    );
    await client.connection.close();
  });

  test('fails while Temporal is away', () => {
    expect(check('127.0.0.1:1').status).not.toBe(0);
  });
});
