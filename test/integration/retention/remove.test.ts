import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { removeRestingSessions } from '../../../domain/conversations/sessions.ts';
import { removeEndedRuns, removeOldPayloads } from '../../../domain/retention/remove.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertTask } from '../../support/human-tasks.ts';

let t: TestApp;
let owner: string;
const em = () => t.orm.em.fork();

beforeAll(async () => {
  t = await startTestApp();
  owner = (await t.user('builder')).id;
});
beforeEach(async () => {
  await em().execute('truncate run, run_event, file, temporal_payload cascade');
});
afterAll(() => t.close());

interface Given {
  /** Days since the run's end; null: the run has not ended. */
  ended: number | null;
  parent?: string;
  root?: string;
  retryOf?: string;
  status?: string;
  events?: number;
  started?: number;
}

async function run({
  ended,
  parent,
  root,
  retryOf,
  status,
  events = 1,
  started = 400,
}: Given): Promise<string> {
  const id = uuidv7();
  await em().execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, parent_run_id, retry_of,
                      last_seq, created_at, finished_at)
     values (?, 'w', '{}', ?, ?, ?, ?, ?, ?, now() - ? * interval '1 day', now() - ? * interval '1 day')`,
    [
      id,
      status ?? (ended === null ? 'waiting' : 'completed'),
      owner,
      root ?? parent ?? id,
      parent ?? null,
      retryOf ?? null,
      events,
      started,
      ended,
    ],
  );
  return id;
}

async function removeAll(days = 90): Promise<number[]> {
  const batches: number[] = [];
  for (;;) {
    const { runs: removed } = await removeEndedRuns(em(), days);
    if (removed === 0) return batches;
    batches.push(removed);
  }
}

test('conversations are removed when they have rested long enough, unless a run holds them', async () => {
  const agent = await registeredAgent(await t.as(await t.user('builder')));
  const insert = async (name: string, age: number, holder: string | null): Promise<void> => {
    await em().execute(
      `insert into chat_session (id, agent_id, owner_id, name, holder_run, updated_at)
       values (?, ?, ?, ?, ?, now() - ? * interval '1 day')`,
      [uuidv7(), agent.id, owner, name, holder, age],
    );
  };
  await insert('old', 91, await run({ ended: 91 }));
  await insert('held', 91, await run({ ended: null }));
  await insert('young', 89, null);
  expect([await removeRestingSessions(em(), 90), await removeRestingSessions(em(), 90)]).toEqual([1, 0]);
  const rest = await em().execute<{ name: string }[]>('select name from chat_session order by name');
  expect(rest.map(({ name }) => name)).toEqual(['held', 'young']);
});

const left = async () =>
  (await em().execute<{ id: string }[]>('select id from run')).map(({ id }) => id).toSorted();
const count = async (table: string) =>
  Number((await em().execute<{ n: string }[]>(`select count(*) as n from ${table}`))[0]?.n);

test('a run is removed a number of days after its end, an unfinished one is kept', async () => {
  const kept = [
    await run({ ended: 89 }),
    await run({ ended: null }),
    await run({ ended: null, status: 'pending' }),
    await run({ ended: 0 }),
  ];
  for (const ended of [91, 200, 90.01]) await run({ ended });
  expect(await removeAll()).toEqual([3]);
  expect(await left()).toEqual(kept.toSorted());
  expect(await removeAll(1)).toEqual([1]);
});

test('removing a run removes its rows, except for audit rows and usage', async () => {
  const [gone, stays] = [await run({ ended: null }), await run({ ended: null })];
  const tables = [
    'run_pin',
    'run_task',
    'run_signal',
    'run_checkpoint',
    'invocation',
    'hitl_task',
    'hitl_comment',
    'delivery_target',
    'delivery',
  ];
  for (const id of [gone, stays]) {
    const task = await insertTask(t.orm, id);
    const target = uuidv7();
    const statements: [string, unknown[]][] = [
      [
        `insert into run_event (run_id, seq, key, type, at, level, message, data)
          values (?, 1, 'k', 't', now(), 'info', 'm', '{}')`,
        [id],
      ],
      [
        `insert into run_pin (run_id, reference, agent_id, version, snapshot)
          values (?, 'a', ?, '1.0.0', '{}')`,
        [id, uuidv7()],
      ],
      [
        `insert into run_task (run_id, reference, visit, seq, name, type, status, started_at)
          values (?, '/do/0/a', 1, 1, 'a', 'set', 'completed', now())`,
        [id],
      ],
      [`insert into run_signal (id, run_id, kind, payload) values (?, ?, 'cancel', '{}')`, [uuidv7(), id]],
      [`insert into run_checkpoint (run_id, state) values (?, '{}')`, [id]],
      [`insert into invocation (run_id, key) values (?, 'k')`, [id]],
      [
        `insert into hitl_comment (id, task_id, comment, created_by, created_at)
          values (?, ?, 'c', ?, now())`,
        [uuidv7(), task, owner],
      ],
      [
        `insert into delivery_target (id, kind, owner_id, run_id, url)
          values (?, 'x', ?, ?, 'https://a.example')`,
        [target, owner, id],
      ],
      [
        `insert into delivery (id, target_id, ord, message_id, type, run_id, content_type, body, expires_at)
          values (?, ?, 1, 'm', 't', ?, 'text/plain', 'b', now())`,
        [uuidv7(), target, id],
      ],
      [`insert into usage_record (id, run_id, user_id, usage) values (?, ?, ?, '{}')`, [uuidv7(), id, owner]],
    ];
    for (const [sql, values] of statements) await em().execute(sql, values);
  }
  const [audits, usages] = [await count('hitl_audit'), await count('usage_record')];
  await em().execute(
    `update run set status = 'completed', finished_at = now() - interval '91 days' where id = ?`,
    [gone],
  );
  expect(await removeAll()).toEqual([1]);
  expect(await Promise.all(tables.map(async (table) => [table, await count(table)]))).toEqual(
    tables.map((table) => [table, 1]),
  );
  expect([await count('hitl_audit'), await count('usage_record')]).toEqual([audits, usages]);
  expect(audits).toBeGreaterThan(1);
});

test('a tree of runs is removed from the leaves up, once all of it is old enough', async () => {
  const root = await run({ ended: 95 });
  const child = await run({ ended: 96, parent: root });
  await run({ ended: 97, parent: child, root });
  const liveRoot = await run({ ended: null });
  const youngRoot = await run({ ended: 10 });
  const kept = [
    liveRoot,
    youngRoot,
    await run({ ended: 99, parent: liveRoot }),
    await run({ ended: 99, parent: youngRoot }),
  ];
  // A child that never ended keeps its parent.
  const strange = await run({ ended: 99 });
  kept.push(strange, await run({ ended: null, parent: strange }));
  expect(await removeAll()).toEqual([1, 1, 1]);
  expect(await left()).toEqual(kept.toSorted());
});

test('a retried run is removed before its retry, but not before the retry has started', async () => {
  const [first, second] = [
    await run({ ended: 99, status: 'faulted' }),
    await run({ ended: 99, status: 'faulted' }),
  ];
  const waiting = await run({ ended: null, status: 'pending', retryOf: second });
  const retry = await run({ ended: 5, retryOf: first });
  expect(await removeAll()).toEqual([1]);
  expect(await left()).toEqual([second, waiting, retry].toSorted());
  const [row] = await em().execute<{ retry_of: string | null }[]>('select retry_of from run where id = ?', [
    retry,
  ]);
  expect(row?.retry_of).toBeNull();
});

test('a batch is limited in runs and events', async () => {
  for (const events of [15_000, 15_000, 1, 50_000, 1]) await run({ ended: 100, events });
  const batches = await removeAll();
  expect(batches.reduce((sum, n) => sum + n, 0)).toBe(5);
  expect(batches.length).toBeGreaterThan(1);
  await em().execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, finished_at)
     select id, 'w', '{}', 'completed', ?, id, now() - interval '91 days'
     from (select gen_random_uuid() as id from generate_series(1, 250)) ids`,
    [owner],
  );
  expect(await removeAll()).toEqual([100, 100, 50]);
});

test('two concurrent workers remove each run once', async () => {
  await em().execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, finished_at)
     select id, 'w', '{}', 'completed', ?, id, now() - interval '91 days'
     from (select gen_random_uuid() as id from generate_series(1, 300)) ids`,
    [owner],
  );
  const all = await Promise.all([removeAll(), removeAll(), removeAll()]);
  expect(all.flat().reduce((sum, n) => sum + n, 0)).toBe(300);
});

test('a payload is removed when no readable history can refer to it', async () => {
  const payload = async (name: string, days: number) =>
    em().execute(
      `insert into temporal_payload (digest, data, used_at) values (?, 'x', now() - ? * interval '1 day')`,
      [name, days],
    );
  for (const [name, days] of [
    ['ancient', 500],
    ['old', 120],
    ['recent', 80],
  ] as const)
    await payload(name, days);
  const digests = async () =>
    (await em().execute<{ digest: string }[]>('select digest from temporal_payload order by used_at')).map(
      ({ digest }) => digest,
    );
  // This run has waited for 300 days, so nothing that it uses is older than that.
  const waiting = await run({ ended: null, started: 300 });
  expect(await removeOldPayloads(em(), 90)).toMatchObject({ payloads: 1 });
  expect(await digests()).toEqual(['old', 'recent']);
  await em().execute(`update run set status = 'completed', finished_at = now() where id = ?`, [waiting]);
  expect(await removeOldPayloads(em(), 90)).toMatchObject({ payloads: 1 });
  expect(await digests()).toEqual(['recent']);
  expect(await removeOldPayloads(em(), 90)).toEqual({ payloads: 0, files: [] });
});

async function file(ofRuns: boolean, ...usedBy: string[]): Promise<string> {
  const id = uuidv7();
  await em().execute(
    `insert into file (id, owner_id, name, media_type, size, sha256, of_runs)
      values (?, ?, 'f', 'text/plain', 0, '', ?)`,
    [id, owner, ofRuns],
  );
  for (const runId of usedBy)
    await em().execute(`insert into run_file (run_id, file_id) values (?, ?)`, [runId, id]);
  return id;
}

test('files stored for runs go with the last run that uses them, uploads of users stay', async () => {
  const [old, older, young] = [await run({ ended: 100 }), await run({ ended: 200 }), await run({ ended: 1 })];
  const [produced, shared, used, uploaded, unused] = [
    await file(true, old),
    await file(true, old, older),
    await file(true, old, young),
    await file(false, old),
    await file(false),
  ];
  const { runs, files } = await removeEndedRuns(em(), 90);
  expect([runs, files.toSorted()]).toEqual([2, [produced, shared].toSorted()]);
  const stay = (await em().execute<{ id: string }[]>('select id from file')).map(({ id }) => id);
  expect(stay.toSorted()).toEqual([used, uploaded, unused].toSorted());
  expect((await removeEndedRuns(em(), 0)).files).toEqual([used]);
});
