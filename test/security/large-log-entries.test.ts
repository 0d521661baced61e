/**
 * Entries of a log can be large: a definition chooses what it emits, and entries from before the limits stay.
 * Readers take a few of them at a time, and none of them is left out or comes twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { EVENT } from '../../contracts/run-events.ts';
import { LOG_PAGE_BYTES } from '../../db/large-fields.ts';
import { fanOut } from '../../domain/delivery/fan-out.ts';
import { readLog, startOfNow, type LogFilter } from '../../domain/events/log-reader.ts';
import { encodePosition } from '../../domain/events/position.ts';
import { createRun } from '../../domain/runs/create.ts';
import { runLimits } from '../../domain/runs/limits.ts';
import { takeDueSignals } from '../../domain/runs/signals.ts';
import { createDeliveryKinds } from '../../worker/delivery-kinds.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { openStream } from '../support/sse-client.ts';

const ENTRIES = 7;
const ENTRY_BYTES = 3 * 1024 * 1024;
/** A page, the entry that ends it, and what is around them. */
const MAX_ANSWER = LOG_PAGE_BYTES + ENTRY_BYTES + 100_000;

let t: TestApp;
let owner: TestUser;
let builder: Client;
let start: Awaited<ReturnType<typeof startOfNow>>['position'];
let run: string;
const hooks: string[] = [];

// Rows have any shape here.
const sql = (text: string, values: unknown[] = []) => t.orm.em.fork().execute<any[]>(text, values);
const sizeOf = (body: unknown): number => JSON.stringify(body).length;
/** All entries: the first is that of the run's creation. */
const all = Array.from({ length: ENTRIES + 2 }, (_, n) => n + 1);

beforeAll(async () => {
  t = await startTestApp();
  owner = await t.createUser();
  builder = await t.as(owner);
  for (let n = 0; n < 2; n++) {
    const hook = await builder.post('/webhooks', {
      url: 'https://receiver.example',
      types: ['com.example.told', 'io.serverlessworkflow.workflow.completed.v1'],
    });
    hooks.push(hook.body.id);
  }
  start = (await startOfNow(t.orm.em.fork())).position;
  run = await runWithLargeLog();
});
afterAll(() => t.close());

/** As it was written before entries had limits; it compresses to a fraction. */
async function runWithLargeLog(): Promise<string> {
  const { id } = await t.orm.em.fork().transactional((em) =>
    createRun(em, {
      workflow_id: null,
      workflow_revision: null,
      workflow_name: 'large',
      definition: { do: [] },
      input: {},
      owner_id: owner.id,
      rights_of: owner.id,
      agents: [],
      limits: runLimits(t.env),
    }),
  );
  await sql(
    `insert into run_event (run_id, seq, key, type, at, level, task, message, data)
     select ?::uuid, n, 'told:' || n, ?, clock_timestamp(), 'info', '/do/0/tell', 'told',
            json_build_object('event', json_build_object('specversion', '1.0', 'id', n::text, 'source', 'x',
              'type', 'com.example.told', 'data', repeat('a', ?)))
       from generate_series(2, ?) n`,
    [id, EVENT.eventEmitted, ENTRY_BYTES, ENTRIES + 1],
  );
  await sql(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     values (?, ?, 'ended', ?, clock_timestamp(), 'info', 'Run completed', '{}')`,
    [id, ENTRIES + 2, EVENT.runCompleted],
  );
  await sql(
    `update run set status = 'completed', finished_at = clock_timestamp(), last_seq = ? where id = ?`,
    [ENTRIES + 2, id],
  );
  return id;
}

/** The numbers of the entries of all pages of a list, each of which is small enough. */
async function seqsOf(path: string): Promise<number[]> {
  const seqs: number[] = [];
  for (let next: string | null = path; next !== null;) {
    const { status, body, headers } = await builder.get(next);
    expect(status).toBe(200);
    expect(sizeOf(body)).toBeLessThan(MAX_ANSWER);
    seqs.push(...body.map(({ seq }: { seq: number }) => seq));
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]?.replace(t.env.BASE_URL, '') ?? null;
  }
  return seqs;
}

test('a list of log entries has pages of a few megabytes, in both directions', async () => {
  expect(await seqsOf(`/runs/${run}/logs?limit=200`)).toEqual(all);
  expect(await seqsOf(`/runs/${run}/logs?limit=1`)).toEqual(all);
  expect(await seqsOf(`/runs/${run}/logs?limit=200&before=999&after=1`)).toEqual(all.slice(1).toReversed());
  const { body } = await builder.get(`/runs/${run}`);
  expect(sizeOf(body)).toBeLessThan(MAX_ANSWER);
  expect(body.logs.map(({ seq }: { seq: number }) => seq)).toEqual(all.slice(-3));
});

test('a stream of a run ends after its last entry, not after the first page', async () => {
  const headers = { authorization: `Bearer ${owner.token}` };
  const stream = await openStream(`${t.url}/runs/${run}/events`, { headers });
  await stream.ended;
  expect(stream.events.map(({ id }) => Number(id))).toEqual(all);
});

test('a stream of all runs has every entry once, behind the reader that it shares', async () => {
  const headers = {
    authorization: `Bearer ${owner.token}`,
    'last-event-id': encodePosition(start),
  };
  const query = `types=com.example.told,io.serverlessworkflow.workflow.completed.v1&run_id=${run}`;
  const stream = await openStream(`${t.url}/events?${query}`, { headers });
  for (const deadline = Date.now() + 120_000; stream.events.length <= ENTRIES; await sleep(50))
    if (Date.now() > deadline) break;
  expect(stream.events.map(({ data }) => data.id)).toEqual([
    ...all.slice(1, -1).map(String),
    `${run}:${ENTRIES + 2}`,
  ]);
  stream.drop();
  await stream.ended;
});

test.each<[string, LogFilter]>([
  ['of all runs', {}],
  ['that is filtered', { runs: { sql: 'true', values: [] } }],
])('a page of the log %s ends by its size, and says so', async (_of, filter) => {
  const em = t.orm.em.fork();
  const seen: number[] = [];
  let pages = 0;
  for (let after = start; ; pages++) {
    const page = await readLog(em, after, { ...filter, limit: 500 });
    const large = page.events.filter(({ type }) => type === EVENT.eventEmitted);
    expect(large.length).toBeLessThanOrEqual(2);
    seen.push(...page.events.filter(({ run_id: id }) => id === run).map(({ seq }) => seq));
    after = page.events.at(-1)?.position ?? after;
    // Open transactions of other tests on this server hold back the end.
    if (!page.isFull && seen.length === all.length) break;
    if (!page.isFull) await sleep(50);
  }
  expect(seen).toEqual(all);
  expect(pages).toBeGreaterThan(2);
  const one = await readLog(em, start, { ...filter, limit: 500, bytes: 1 });
  expect([one.events.length, one.isFull]).toEqual([1, true]);
});

const deliveriesOf = (hook: string): Promise<any[]> =>
  sql('select seq, status from delivery where target_id = ? order by ord', [hook]);

test('webhooks get every event once and in order, and lists of deliveries do not read them', async () => {
  const { encryption, keys } = t.app.deps;
  const kinds = createDeliveryKinds({ orm: t.orm, encryption, keys, baseUrl: t.url });
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(5))
    if ((await fanOut({ orm: t.orm, kinds })).state === 'done') break;
  for (const hook of hooks) expect((await deliveriesOf(hook)).map(({ seq }) => seq)).toEqual(all.slice(1));
  await sql('update delivery set type = type || repeat(?, 100000) where target_id = ?', ['x', hooks[0]]);
  const { status, body } = await builder.get(`/webhooks/${hooks[0]}/deliveries?limit=200`);
  expect([status, body.length]).toEqual([200, ENTRIES + 1]);
  expect(sizeOf(body)).toBeLessThan(2_000 * body.length);
  const single = await builder.get(`/webhooks/${hooks[0]}/deliveries/${body.at(-1).id}`);
  expect(single.body.body.length).toBeGreaterThan(ENTRY_BYTES);
});

test('failed deliveries are sent again 16 MiB at a time', async () => {
  const [hook] = hooks;
  await sql(`update delivery set status = 'failed' where target_id = ?`, [hook]);
  const counts: number[] = [];
  do counts.push((await builder.post(`/webhooks/${hook}/redeliver`, {})).body.redelivered);
  while (counts.at(-1) !== 0 && counts.length < 10);
  expect(counts).toEqual([6, 2, 0]);
  const again = (await deliveriesOf(hook ?? '')).filter(({ status }) => status === 'pending');
  expect(again.map(({ seq }) => seq)).toEqual(all.slice(1));
});

test('signals with large errors of children are repeated 16 MiB at a time', async () => {
  await sql(
    `insert into run_signal (id, run_id, kind, payload, next_at)
     select gen_random_uuid(), ?, 'child.done', json_build_object('n', n, 'detail', repeat('a', ?)),
            clock_timestamp() - interval '1 hour' + n * interval '1 second'
       from generate_series(1, 8) n`,
    [run, ENTRY_BYTES],
  );
  const take = async (): Promise<unknown[]> => {
    const signals = await takeDueSignals(t.orm.em.fork(), 200);
    return signals.map(({ signal }) => ('n' in signal ? signal.n : null)).toSorted();
  };
  expect(await take()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await take()).toEqual([7, 8]);
  expect(await take()).toEqual([]);
});

test('lists of tasks have the beginnings of errors, and a task the whole error', async () => {
  const error = {
    type: 'https://example.com/broken',
    status: 500,
    title: 'Broken',
    detail: 'd'.repeat(ENTRY_BYTES),
  };
  await sql(
    `insert into run_task (run_id, reference, visit, seq, name, type, status, started_at, finished_at, error)
     select ?::uuid, '/do/0/broken', n, n, 'broken', 'raise', 'faulted', clock_timestamp(), clock_timestamp(),
            ?::json
       from generate_series(1, 5) n`,
    [run, JSON.stringify(error)],
  );
  const cut = { ...error, detail: 'd'.repeat(8_192) };
  const list = await builder.get(`/runs/${run}/tasks?limit=200`);
  expect(list.body.map((task: { error: unknown }) => task.error)).toEqual(Array(5).fill(cut));
  const whole = await builder.get(`/runs/${run}`);
  expect(whole.body.tasks[0].error).toEqual(cut);
  const single = await builder.get(`/runs/${run}/tasks/${encodeURIComponent('/do/0/broken')}`);
  expect(single.body.error).toEqual(error);
});
