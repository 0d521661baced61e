/** What Temporal keeps of an erased person's runs, on a real server whose executions are short. */
import type { Client as TemporalClient } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { runWorkflowId } from '../../../contracts/temporal.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { startTestPlatform, runToEnd, until, type TestPlatform } from '../../support/platform.ts';
import { createTestDatabase, smallTemporal } from '../../support/servers.ts';

let platform: TestPlatform;
let temporal: TemporalClient;

beforeAll(async () => {
  const [database, server] = await Promise.all([createTestDatabase(), smallTemporal()]);
  temporal = createTemporalClient(server);
  platform = await startTestPlatform({ servers: { database, temporal: server } });
});
afterAll(async () => {
  await platform.close();
  await temporal.connection.close();
});

/** Ids of the executions that the server itself still has. */
async function executionsOf(runId: string, known: readonly string[]): Promise<string[]> {
  const states = await Promise.all(
    known.map(async (id) => {
      const handle = temporal.workflow.getHandle(runWorkflowId(runId), id);
      return handle.describe().then(
        () => [id],
        () => [],
      );
    }),
  );
  return states.flat();
}

/** All executions of a run that has ended. */
async function closedExecutions(runId: string, least: number): Promise<string[]> {
  const list = async () => {
    const found = [];
    const query = `WorkflowId = '${runWorkflowId(runId)}'`;
    for await (const { runId: id, status } of temporal.workflow.list({ query })) found.push({ id, status });
    return found;
  };
  const found = await until(
    list,
    (executions) => executions.length >= least && executions.every(({ status }) => status.name !== 'RUNNING'),
  );
  return found.map(({ id }) => id);
}

test('executions of removed runs and of runs with replaced names go, the others stay', async () => {
  const admin = await platform.as('admin');
  const person = await platform.createUser({ username: 'Petra.Novak', roles: ['builder'] });
  const other = await platform.as('builder');
  const steps = {
    do: [{ all: { for: { in: '[range(30)]' }, do: [{ rest: { wait: { milliseconds: 1 } } }] } }],
  };
  const own = await runToEnd(await platform.as(person), steps);
  const about = await runToEnd(
    other,
    { do: [{ a: { set: { note: '${ .note }' } } }] },
    { note: 'petra.novak' },
  );
  const unrelated = await runToEnd(other, { do: [{ a: { set: { x: 1 } } }] });
  const before = new Map<string, string[]>();
  for (const [run, least] of [
    [own, 2],
    [about, 1],
    [unrelated, 1],
  ] as const)
    before.set(run['id'], await closedExecutions(run['id'], least));
  const transfer = { to: (await platform.user('builder')).id };
  expect((await admin.post(`/users/${person.id}/transfer`, transfer)).status).toBe(200);
  await platform.orm.em.fork().execute('update run set owner_id = ? where id = ?', [person.id, own['id']]);

  const body = { confirm: 'Petra.Novak', runs: 'remove', free_text: 'replace' };
  const erased = await admin.post(`/users/${person.id}/erase`, body);
  expect([200, 202]).toContain(erased.status);
  const report = await until(
    async () => (await admin.get(`/users/${person.id}/erasure`)).body,
    ({ status }) => status === 'done',
  );
  expect(report).toMatchObject({
    removed: { runs: 1 },
    texts: { replaced: { runs: 1 } },
    histories: { removed: 2, waiting: 0, kept: 0, kept_until: null },
  });
  for (const { id } of [own, about] as { id: string }[]) {
    await until(
      () => executionsOf(id, before.get(id) ?? []),
      (left) => left.length === 0,
    );
  }
  expect(await executionsOf(unrelated['id'], before.get(unrelated['id']) ?? [])).toHaveLength(1);
  expect((await other.get(`/runs/${about['id']}`)).body.output).toEqual({ note: `erased-${person.id}` });
});

test('the report names what Temporal keeps of runs that stay, until the end of the retention', async () => {
  const admin = await platform.as('admin');
  const person = await platform.createUser({ username: 'Keeps.Runs', roles: ['builder'] });
  const run = await runToEnd(await platform.as('builder'), { do: [{ a: { set: { x: 1 } } }] });
  await platform.orm.em.fork().execute('update run set owner_id = ? where id = ?', [person.id, run['id']]);
  const { namespace } = temporal.options;
  const { config } = await temporal.workflowService.describeNamespace({ namespace });
  const retentionMs = Number(config?.workflowExecutionRetentionTtl?.seconds) * 1_000;
  expect(retentionMs).toBeGreaterThan(0);
  const { histories } = (await admin.post(`/users/${person.id}/erase`, { confirm: 'Keeps.Runs' })).body;
  const { finished_at: finished } = (await admin.get(`/runs/${run['id']}`)).body;
  expect(histories).toMatchObject({ removed: 0, waiting: 0, kept: 1 });
  expect(Math.abs(Date.parse(histories.kept_until) - Date.parse(finished) - retentionMs)).toBeLessThan(1_000);
});
