/** `context` of `call: human`: what people see of a run that is not theirs (docs/human-tasks.md). */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Client } from '../../support/app.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let asAnn: Client;
let asOther: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  asAnn = await platform.as(await platform.createUser({ username: 'ann', roles: ['approver'] }));
  asOther = await platform.as(await platform.createUser({ username: 'otto', roles: ['approver'] }));
});
afterAll(() => platform.close());

const review = (context: unknown[], more: Record<string, unknown> = {}) => ({
  review: { call: 'human', with: { title: 'Go?', candidates: { users: ['ann'] }, context, ...more } },
});
const asked = async (run: RunRecord, who = asAnn): Promise<RunRecord> =>
  (
    await until(
      async () => (await who.get(`/hitl/tasks?run_id=${run['id']}`)).body as RunRecord[],
      (tasks) => tasks.length > 0,
    )
  )[0] ?? {};
const read = async (id: string, who = asAnn): Promise<RunRecord> => (await who.get(`/hitl/tasks/${id}`)).body;
const step = (name: string, task: string, more: Record<string, unknown> = {}) => ({
  name,
  task,
  status: 'completed',
  value: null,
  value_omitted: false,
  ...more,
});

test('people see the named steps and values of a run that they do not see', async () => {
  const run = await startRun(
    builder,
    {
      do: [
        { check: { set: { risk: 'low', who: '${ .who }' } } },
        { never: { if: '${ false }', set: { a: 1 } } },
        {
          gather: {
            fork: { branches: [{ history: { set: { orders: 3 } } }, { carrier: { wait: 'PT0S' } }] },
          },
        },
        {
          guarded: {
            try: [{ fails: { raise: { error: { type: 'https://example.com/no', status: 400 } } } }],
            catch: { do: [{ go_on: { set: { fine: true } } }] },
          },
        },
        { secretly: { set: { hidden: 'not named' } } },
        review([
          'check',
          'never',
          'history',
          'fails',
          'after',
          { limit: '${ .hidden | length }', twice: ['${ 1 + 1 }', 'text'] },
        ]),
        { after: { set: { done: true } } },
      ],
    },
    { who: 'Ada' },
  );
  const listed = await asked(run);
  expect(listed['omitted']).toEqual(['context']);
  expect(listed).not.toHaveProperty('context');

  const task = await read(listed['id']);
  expect(task['context']).toEqual([
    step('check', '/do/0/check', { value: { risk: 'low', who: 'Ada' } }),
    step('never', '/do/1/never', { status: 'skipped' }),
    step('history', '/do/2/gather/fork/branches/0/history', { value: { orders: 3 } }),
    step('fails', '/do/3/guarded/try/0/fails', { status: 'faulted' }),
    step('after', '/do/6/after', { status: 'pending' }),
    { name: 'limit', task: null, status: null, value: 9, value_omitted: false },
    { name: 'twice', task: null, status: null, value: [2, 'text'], value_omitted: false },
  ]);
  expect(JSON.stringify(task)).not.toContain('not named');
  expect(task['can']).not.toContain('see_run');
  expect((await asAnn.get(`/runs/${run['id']}`)).status).toBe(404);
  expect((await asOther.get(`/hitl/tasks/${listed['id']}`)).status).toBe(404);

  const { body } = await asAnn.post(`/hitl/tasks/${listed['id']}/decision`, { decision: 'approve' });
  expect(body.task.context).toEqual(task['context']);
  const log = (await builder.get(`/runs/${run['id']}/logs?limit=200`)).body as RunRecord[];
  expect(log.filter(({ type }) => type.includes('.hitl.')).some((entry) => 'context' in entry['data'])).toBe(
    false,
  );
});

test('in a loop people see the last visit of a step', async () => {
  const run = await startRun(builder, {
    do: [
      {
        each: {
          for: { each: 'item', in: '${ ["a", "b"] }' },
          do: [{ draft: { set: { text: '${ $item }' } } }, review(['draft'])],
        },
      },
    ],
  });
  for (const text of ['a', 'b']) {
    const task = await until(
      async () => (await read((await asked(run))['id'])) as RunRecord,
      ({ context }) => context[0].value.text === text,
    );
    expect(task['context']).toHaveLength(1);
    await asAnn.post(`/hitl/tasks/${task['id']}/decision`, { decision: 'approve' });
  }
});

test('large outputs and values are left out, and all values together are bounded', async () => {
  const values = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`v${n}`, '${ "y" * 7000 }']));
  const run = await startRun(builder, {
    do: [
      { big: { set: { text: '${ "x" * 9000 }' } } },
      review(['big', { part: '${ .text[0:10] }', all: '${ .text }' }, values]),
    ],
  });
  const { context } = await read((await asked(run))['id']);
  expect(context.slice(0, 3)).toEqual([
    step('big', '/do/0/big', { value_omitted: true }),
    { name: 'part', task: null, status: null, value: 'xxxxxxxxxx', value_omitted: false },
    { name: 'all', task: null, status: null, value: null, value_omitted: true },
  ]);
  const kept = context.filter((entry: RunRecord) => !entry['value_omitted']);
  expect(kept).toHaveLength(1 + Math.floor((64 * 1024) / 7_002));
  expect(Buffer.byteLength(JSON.stringify(context))).toBeLessThan(72 * 1024);
});

test('a retry shows the steps that it took over', async () => {
  const first = await startRun(builder, {
    do: [{ check: { set: { risk: 'low' } } }, review(['check'], { expires: 'PT0.5S' })],
  });
  await until(
    async () => (await builder.get(`/runs/${first['id']}`)).body as RunRecord,
    ({ status }) => status === 'faulted',
  );
  const { body: again } = await builder.post(`/runs/${first['id']}/retry`, {});
  const task = await until(
    async () => {
      const [row] = await platform.orm.em
        .fork()
        .execute<{ id: string }[]>(`select id from hitl_task where run_id = ?`, [again.id]);
      return row;
    },
    (row) => row !== undefined,
  );
  expect((await read(task?.id ?? ''))['context']).toEqual([
    step('check', '/do/0/check', { value: { risk: 'low' } }),
  ]);
});
