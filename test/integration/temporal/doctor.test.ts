/** What `cadenza server doctor` asks a real Temporal. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import proto from '@temporalio/proto';

import { parseEnv, type Env } from '../../../config/env.ts';
import { SEARCH_ATTRIBUTES } from '../../../contracts/temporal.ts';
import { temporalFindings } from '../../../dev/server/checks/temporal.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { testKeys } from '../../support/app.ts';
import { until } from '../../support/platform.ts';
import { testTemporal, type TestTemporal } from '../../support/servers.ts';

function envOf({ address, namespace, taskQueue }: TestTemporal): Env {
  const parsed = parseEnv({
    DATABASE_URL: 'postgres://localhost/unused',
    ENCRYPTION_KEYS: testKeys,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_TASK_QUEUE: taskQueue,
  });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.env;
}

test('a namespace that there is not is a failure, with the command that makes it', async () => {
  const temporal = await testTemporal();
  const env = envOf({ ...temporal, namespace: 'not-there' });
  expect(await temporalFindings(env, temporal.address)).toEqual([
    expect.objectContaining({ check: 'temporal', status: 'ok' }),
    {
      check: 'namespace',
      status: 'error',
      detail:
        'Temporal has no namespace not-there. Create it (temporal operator namespace create -n not-there), ' +
        'or set TEMPORAL_NAMESPACE.',
    },
  ]);
});

test('search attributes that a namespace lacks are named, with the commands that make them', async () => {
  const temporal = await testTemporal();
  const namespace = `bare-${randomUUID()}`;
  const client = createTemporalClient(temporal);
  await client.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: proto.google.protobuf.Duration.fromObject({ seconds: 86_400 }),
  });
  await client.connection.close();
  const env = envOf({ ...temporal, namespace });
  // Parts of the server learn of a namespace a few seconds later.
  const found = await until(
    () => temporalFindings(env, temporal.address).catch(() => []),
    (findings) => findings.some(({ check }) => check === 'search attributes'),
  );
  const finding = found.find(({ check }) => check === 'search attributes');
  expect(finding?.status).toBe('warn');
  for (const name of Object.values(SEARCH_ATTRIBUTES))
    expect(finding?.detail).toContain(
      `temporal operator search-attribute create -n ${namespace} --name ${name} --type Keyword`,
    );
  expect(found).toContainEqual({
    check: 'namespace',
    status: 'ok',
    detail: `${namespace} keeps ended runs for 1 day`,
  });
});

test("Temporal's clock is compared each time, also on a queue that nobody polls", async () => {
  const temporal = await testTemporal();
  for (let time = 0; time < 3; time++) {
    const found = await temporalFindings(envOf(temporal), temporal.address);
    // Both run on this machine.
    expect(found).toContainEqual({
      check: 'clock of temporal',
      status: 'ok',
      detail: 'agrees with this machine',
    });
    expect(found).toContainEqual(expect.objectContaining({ check: 'workers', status: 'error' }));
  }
});
