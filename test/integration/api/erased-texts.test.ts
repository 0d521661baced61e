/** Names of an erased person in texts that people wrote: found, replaced, and left where a record stays. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { getUser } from '../../../domain/auth/users.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import { planTexts } from '../../../domain/privacy/erase-texts.ts';
import { removeHistories } from '../../../domain/privacy/histories.ts';
import { beginErasure, type ErasureChoices } from '../../../domain/privacy/erase.ts';
import { TEXT_PLACES } from '../../../domain/privacy/search-texts.ts';
import { columnsOf } from '../../../domain/privacy/text-place.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { noTemporal, startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let admin: Client;
let boss: TestUser;
let bob: TestUser;
const removedHistories: string[] = [];
let temporalAnswers = true;

beforeAll(async () => {
  app = await startTestApp({
    temporal: {
      ...noTemporal,
      historyRetentionMs: async () => (temporalAnswers ? 86_400_000 : noTemporal.historyRetentionMs()),
      removeHistory: async (runId) => {
        if (!temporalAnswers) return noTemporal.removeHistory(runId);
        removedHistories.push(runId);
        return 'removed';
      },
    },
  });
  boss = await app.user('admin');
  admin = await app.as('admin');
  bob = await app.createUser({ username: 'bob', roles: ['builder'] });
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const rows = <T>(sql: string, values: unknown[] = []): Promise<T[]> => fork().execute<T[]>(sql, values);
const files = { remove: async () => {} };
/** Works to the end, which a busy machine does not reach while the request waits. */
async function erase(id: string, body: Record<string, unknown>): ReturnType<Client['post']> {
  const reply = await admin.post(`/users/${id}/erase`, body);
  if (reply.status !== 202) return reply;
  await continueErasures({ fork, files }, 240_000);
  if (temporalAnswers) await removeHistories(fork, app.app.deps.temporal, 60_000);
  return admin.get(`/users/${id}/erasure`);
}

async function person(username: string, displayName: string | null = null): Promise<TestUser> {
  const user = await app.createUser({ username, roles: ['builder'] });
  await rows('update user_account set display_name = ?, email = ? where id = ?', [
    displayName,
    `${user.id}@example.com`,
    user.id,
  ]);
  return user;
}

/** A run of somebody else, with an input and an entry in its log. */
async function runWith(input: unknown, { ended = true, owner = bob.id } = {}): Promise<string> {
  const id = await insertRun(app.orm, { owner });
  await rows(
    `update run set input = ?::json, output = ?::json, status = ?, finished_at = case when ? then now() end
      where id = ?`,
    [JSON.stringify(input), JSON.stringify({ copy: input }), ended ? 'completed' : 'running', ended, id],
  );
  await rows(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     values (?, 1, 'a', 'x', now(), 'info', ?, ?::json)`,
    [id, JSON.stringify(input), JSON.stringify({ input })],
  );
  return id;
}

async function inputOf(id: string): Promise<unknown> {
  const [run] = await rows<{ input: unknown }>('select input from run where id = ?', [id]);
  return run?.input;
}

async function begin(user: TestUser, choices: ErasureChoices): Promise<void> {
  await fork().transactional(async (em) => {
    const actor = { id: boss.id, username: boss.username, roles: boss.roles, groups: [] };
    await beginErasure(em, actor, await getUser(em, user.id, true), choices);
  });
}

/** Every table but for the account's own in which the text occurs, in any column. */
async function tablesWith(text: string): Promise<string[]> {
  const found = await Promise.all(
    [...new Set(TEXT_PLACES.map(({ table }) => table))].map(async (table) => {
      const [row] = await rows<{ found: boolean }>(
        `select exists (select from "${table}" t where t::text ilike ?) as found`,
        [`%${text}%`],
      );
      return row?.found === true ? [table] : [];
    }),
  );
  return found.flat().toSorted();
}

test('names that are patterns elsewhere are found as they are, in texts and JSON', async () => {
  const names = [
    'p%q_r',
    String.raw`back\slash`,
    "o'neil;--",
    '"quoted" one',
    '(a|b)+c?',
    'j.*d$',
    'ÉMILE-ü',
    '王小明',
  ];
  for (const name of names) {
    const user = await person(name);
    const near = 'pXqYr p%qXr backslash oneil quoted one abc jxxd emile 王小';
    const id = await runWith({ text: `by ${name}, not ${near}`, [name]: [name.toLowerCase()] });
    const mark = `erased-${user.id}`;
    const { body } = await erase(user.id, { confirm: name, free_text: 'replace' });
    expect([name, body.status, body.texts]).toEqual([
      name,
      'done',
      expect.objectContaining({
        status: 'done',
        found: { runs: 1, run_logs: 1 },
        replaced: { runs: 1, run_logs: 1 },
        places: [],
        stays: [],
      }),
    ]);
    expect(await inputOf(id)).toEqual({ text: `by ${mark}, not ${near}`, [mark]: [mark] });
    const [event] = await rows<{ message: string; data: unknown }>(
      'select message, data from run_event where run_id = ?',
      [id],
    );
    expect(JSON.parse(event?.message ?? '')).toEqual(await inputOf(id));
    // The fields of a record are the platform's; only values change.
    expect(event?.data).toEqual({ input: { text: `by ${mark}, not ${near}`, [name]: [mark] } });
  }
});

test('by default names are listed with their places, and nothing changes', async () => {
  const user = await person('Quinton', 'Quinton Fisher');
  const text = `Quinton asked Quinton Fisher (${user.id}@example.com), not Quintonson`;
  const ended = await runWith({ text });
  const taskId = await insertTask(app.orm, await runWith({}, { ended: false }), { title: text });
  const plan = (await erase(user.id, { dry_run: true })).body;
  const { body } = await erase(user.id, { confirm: 'Quinton' });
  const found = { human_tasks: 1, runs: 1, run_logs: 1 };
  expect([plan.texts.status, plan.texts.found]).toEqual(['done', found]);
  expect(body.texts).toEqual({
    status: 'done',
    names: ['username', 'email', 'display_name'].map((name) => ({ name, treatment: 'searched', why: null })),
    found,
    replaced: {},
    stays: [],
    places: [
      { kind: 'human_tasks', id: taskId, why: null },
      { kind: 'runs', id: ended, why: null },
      { kind: 'run_logs', id: ended, why: null },
    ],
  });
  expect(await inputOf(ended)).toEqual({ text });
  expect(JSON.stringify((await admin.get(`/users/${user.id}/erasure`)).body)).not.toContain('Quinton');
});

test('where a record has to stay, the name stays, and the report says why', async () => {
  const user = await person('Wendelin');
  const asBob = await app.as(bob);
  const definition = {
    document: { dsl: '1.0.3', namespace: 'test', name: 'x', version: '1.0.0', summary: 'For Wendelin' },
    do: [{ a: { set: { by: 'Wendelin' } } }],
  };
  const { body: workflow } = await asBob.post('/workflows', {
    name: 'wendelin',
    description: 'Asked for by Wendelin',
    definition,
  });
  expect(workflow.id).toBeDefined();
  const live = await runWith({ by: 'Wendelin' }, { ended: false });
  const configuration = { endpoint: 'https://wendelin.example/call' };
  const agent = await registeredAgent(asBob, { description: 'Wendelin wrote it', configuration });
  const { body } = await erase(user.id, { confirm: 'Wendelin', free_text: 'replace' });
  expect(body.texts.stays).toEqual(
    expect.arrayContaining([
      { kind: 'workflows', count: 1, why: expect.stringContaining('refer to it') },
      { kind: 'workflow_revisions', count: 1, why: expect.stringContaining('pinned') },
      { kind: 'agents', count: 1, why: expect.stringContaining('by hand') },
      { kind: 'runs', count: 1, why: expect.stringContaining('had not ended') },
    ]),
  );
  expect(body.texts.places).toContainEqual({
    kind: 'runs',
    id: live,
    why: expect.stringContaining('had not ended'),
  });
  expect(body.texts.replaced).toMatchObject({ workflows: 1, agents: 1 });
  expect((await asBob.get(`/workflows/${workflow.id}`)).body).toMatchObject({
    name: 'wendelin',
    description: `Asked for by erased-${user.id}`,
    definition,
  });
  expect((await asBob.get(`/agents/${agent.id}`)).body).toMatchObject({
    description: `erased-${user.id} wrote it`,
    configuration,
  });
  expect(await inputOf(live)).toEqual({ by: 'Wendelin' });
  expect(removedHistories).not.toContain(live);
});

test('every table that is searched is read, and every text that may change is changed', async () => {
  const user = await person('Zebedee');
  const id = await runWith({});
  const taskId = await insertTask(app.orm, id, { title: 'of Zebedee', subject: { by: 'zebedee' } });
  await rows(
    `insert into hitl_comment (id, task_id, comment, created_by, created_at)
     values (?, ?, 'Zebedee was here', ?, now())`,
    [uuidv7(), taskId, bob.id],
  );
  const text = JSON.stringify({ note: 'Zebedee' });
  await rows(
    `insert into hitl_decision
       (id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin)
     values (?, ?, 'approve', ?::json, 'as Zebedee said', ?, now(), 'api', false)`,
    [uuidv7(), taskId, text, bob.id],
  );
  await rows(
    `insert into file (id, owner_id, name, media_type, size, sha256)
     values (?, ?, 'cv_Zebedee.pdf', 'application/pdf', 1, 'x')`,
    [uuidv7(), bob.id],
  );
  await rows(`insert into invocation (run_id, key, result) values (?, 'k', ?::json)`, [id, text]);
  await rows(`update run set tags = array['zebedee', 'b "c"'], labels = ?::jsonb where id = ?`, [text, id]);
  await rows(`insert into team (id, name, description, created_by) values (?, 'zoo', 'Zebedee and co', ?)`, [
    uuidv7(),
    bob.id,
  ]);
  const { body } = await erase(user.id, { confirm: 'Zebedee', free_text: 'replace' });
  expect(body.texts).toMatchObject({
    replaced: { comments: 1, decisions: 1, files: 1, human_tasks: 1, invocations: 1, runs: 1, teams: 1 },
    places: [],
  });
  expect(await tablesWith('zebedee')).toEqual([]);
  const [run] = await rows('select tags, labels from run where id = ?', [id]);
  expect(run).toMatchObject({ tags: [`erased-${user.id}`, 'b "c"'], labels: { note: `erased-${user.id}` } });
  // Lists search the new title.
  expect((await admin.get(`/hitl/tasks?q=erased-${user.id}`)).body).toHaveLength(1);
});

test('names of others that contain the name stay, and one that two have is only reported', async () => {
  const user = await person('rowan', 'Rowan Atkins');
  await person('rowan.moss', 'Rowan Atkins');
  const text = 'rowan.moss and Rowan asked Rowan Atkins';
  const id = await runWith({ text });
  const { body } = await erase(user.id, { confirm: 'rowan', free_text: 'replace' });
  expect(await inputOf(id)).toEqual({ text: `rowan.moss and erased-${user.id} asked Rowan Atkins` });
  expect(body.texts.names).toContainEqual({
    name: 'display_name',
    treatment: 'only_reported',
    why: 'Another account has the same name.',
  });
  expect(body.texts.places).toContainEqual({ kind: 'runs', id, why: expect.stringContaining('not unique') });
});

test('short names are not searched, and words of the platform are not replaced', async () => {
  const short = await person('jo', 'Jo');
  const id = await runWith({ by: 'jo', status: 'completed' });
  const first = await erase(short.id, { confirm: 'jo', free_text: 'replace' });
  expect(first.body.texts.names).toEqual([
    { name: 'username', treatment: 'not_searched', why: 'It is too short.' },
    { name: 'display_name', treatment: 'not_searched', why: 'It is too short.' },
    { name: 'email', treatment: 'searched', why: null },
  ]);
  const common = await person('completed');
  const second = await erase(common.id, { confirm: 'completed', free_text: 'replace' });
  expect(second.body.texts.places).toContainEqual({ kind: 'runs', id, why: expect.any(String) });
  expect(await inputOf(id)).toEqual({ by: 'jo', status: 'completed' });
});

test('the report lists at most 200 places, and a dry run stops after its time', async () => {
  const user = await person('Ubiquitous');
  await rows(
    `insert into file (id, owner_id, name, media_type, size, sha256)
     select gen_random_uuid(), ?::uuid, 'of Ubiquitous ' || n, 'text/plain', 1, 'x'
       from generate_series(1, 4500) n`,
    [bob.id],
  );
  const former = { username: 'Ubiquitous' };
  const stopped = await planTexts(fork, { userId: user.id, former, choice: 'report' }, 0);
  expect(stopped).toMatchObject({ status: 'stopped', found: {} });
  await begin(user, { runs: 'keep', freeText: 'report' });
  await continueErasures({ fork, files }, 240_000);
  const { texts } = (await admin.get(`/users/${user.id}/erasure`)).body;
  expect(texts.found).toEqual({ files: 4_500 });
  expect(texts.places).toHaveLength(200);
});

test('a search that is killed goes on where it was, and counts each record once', async () => {
  const user = await person('Killed.Often');
  await rows(
    `insert into file (id, owner_id, name, media_type, size, sha256)
     select gen_random_uuid(), ?::uuid, 'of Killed.Often ' || n, 'text/plain', 1, 'x'
       from generate_series(1, 4500) n`,
    [bob.id],
  );
  const runIds = [];
  for (let n = 0; n < 5; n += 1) runIds.push(await runWith({ by: 'killed.often' }));
  await begin(user, { runs: 'keep', freeText: 'replace' });
  let kills = 0;
  for (let isOpen = true; isOpen; kills += 1) {
    let transactions = 0;
    const dying = () => {
      transactions += 1;
      if (transactions > 3) throw new Error('killed');
      return fork();
    };
    isOpen = await continueErasures({ fork: dying, files }, 60_000).catch(() => true);
    if (kills === 10) {
      const { body } = await admin.get(`/users/${user.id}/erasure`);
      expect(body).toMatchObject({ status: 'running', texts: { status: 'searching' } });
    }
    if (kills > 20) await Promise.all([1, 2, 3].map(() => continueErasures({ fork, files }, 60_000)));
  }
  expect(kills).toBeGreaterThan(10);
  const { body } = await admin.get(`/users/${user.id}/erasure`);
  expect(body.texts.replaced).toEqual({ files: 4_500, runs: 5, run_logs: 5 });
  expect(await tablesWith('killed.often')).toEqual([]);
  const left = await rows<{ run_id: string }>('select run_id from erasure_history where user_id = ?', [
    user.id,
  ]);
  expect(left.map(({ run_id: id }) => id).toSorted()).toEqual(runIds.toSorted());
});

test('large values are searched a few at a time', async () => {
  const user = await person('Bulky.Name');
  const noise = 'lorem ipsum dolor '.repeat(50_000);
  const ids = [];
  for (let n = 0; n < 4; n += 1) ids.push(await runWith({ noise, by: `Bulky.Name ${n}` }));
  await erase(user.id, { confirm: 'Bulky.Name', free_text: 'replace' });
  for (const [n, id] of ids.entries())
    expect(await inputOf(id)).toEqual({ noise, by: `erased-${user.id} ${n}` });
});

test('histories of removed and of changed runs go, however long Temporal is away', async () => {
  const user = await person('History.Maker');
  const own = await runWith({ x: 1 }, { owner: user.id });
  const changed = await runWith({ by: 'history.maker' });
  temporalAnswers = false;
  const first = await erase(user.id, { confirm: 'History.Maker', free_text: 'replace', runs: 'remove' });
  expect(first.body).toMatchObject({
    status: 'running',
    removed: { runs: 1 },
    histories: { removed: 0, waiting: 2, kept_until: null },
  });
  temporalAnswers = true;
  await rows('update erasure_history set next_at = now()');
  await removeHistories(fork, app.app.deps.temporal, 60_000);
  expect(removedHistories).toEqual(expect.arrayContaining([own, changed]));
  expect((await admin.get(`/users/${user.id}/erasure`)).body).toMatchObject({
    status: 'done',
    histories: { removed: 2, waiting: 0, kept: 0, kept_until: null },
  });
});

test('histories of runs that stay are named, with the day on which the last one goes', async () => {
  const user = await person('Stays.Here');
  const id = await runWith({ x: 1 }, { owner: user.id });
  const older = await runWith({ x: 1 }, { owner: user.id });
  await rows(`update run set finished_at = now() - interval '3 days' where id = ?`, [older]);
  const plan = await erase(user.id, { dry_run: true });
  const { body } = await erase(user.id, { confirm: 'Stays.Here' });
  const [run] = await rows<{ until: string }>(
    `select to_json(finished_at + interval '1 day') #>> '{}' as until from run where id = ?`,
    [id],
  );
  const until = new Date(run?.until ?? '').toISOString();
  for (const { histories } of [plan.body, body])
    expect(histories).toEqual({
      removed: 0,
      waiting: 0,
      refused: 0,
      refusal: null,
      kept: 1,
      kept_until: until,
    });
});

test('each column that is searched exists and can be compared', async () => {
  for (const place of TEXT_PLACES) {
    const columns = columnsOf(place).map((column) => `t."${column}"::text`);
    const read = rows(
      `select ${columns.join(', ')}, ${place.run ?? 'null'}, ${place.unless?.condition ?? 'true'}
         from ${place.table} t limit 1`,
    );
    await expect(read).resolves.toBeDefined();
  }
});

test('a name that another account has with other spaces is found, and only reported', async () => {
  const user = await person('twin.one', 'Tabea  Twin');
  await person('twin.two', 'Tabea Twin');
  await person('twin.three', 'Tabea   Twin');
  const id = await runWith({ text: 'Tabea Twin and Tabea  Twin' });
  const { body } = await erase(user.id, { confirm: 'twin.one', free_text: 'replace' });
  expect(body.texts.names).toContainEqual({
    name: 'display_name',
    treatment: 'only_reported',
    why: 'Another account has the same name.',
  });
  expect(body.texts.found).toMatchObject({ runs: 1 });
  expect(await inputOf(id)).toEqual({ text: 'Tabea Twin and Tabea  Twin' });
});

test('a name that very many other accounts have a part of is told from theirs', async () => {
  const user = await person('lou.first', 'Louie');
  await rows(
    `insert into user_account (id, username, email, display_name, password_hash, roles)
     select gen_random_uuid(), 'u' || n, 'u' || n || '@lou.example',
            case when n = 5000 then 'LOUIE' else 'Amy Louie ' || n end, null, '{viewer}'
       from generate_series(1, 5000) n`,
  );
  const id = await runWith({ text: 'Louie wrote' });
  const { body } = await erase(user.id, { confirm: 'lou.first', free_text: 'replace' });
  expect(body.texts.names).toContainEqual({
    name: 'display_name',
    treatment: 'only_reported',
    why: 'Another account has the same name.',
  });
  expect(await inputOf(id)).toEqual({ text: 'Louie wrote' });
  await rows(`delete from user_account where username ~ '^u[0-9]+$'`);
});

test('names without letters, and words of JSON and links, are not replaced', async () => {
  for (const name of ['2026', 'true', 'null', 'https', 'approve', '----', uuidv7()]) {
    const user = await person(uuidv7().replaceAll('-', 'x'), name);
    const input = { at: '2026-11-28T10:00:00Z', text: `---- ${name} https://x.example/true` };
    const id = await runWith(input);
    const { body } = await erase(user.id, { confirm: user.username, free_text: 'replace' });
    expect([name, body.texts.names.find((one: { name: string }) => one.name === 'display_name')]).toEqual([
      name,
      expect.objectContaining({ treatment: 'only_reported' }),
    ]);
    expect(await inputOf(id)).toEqual(input);
  }
});

test('a sent message stays JSON, with the fields that it had', async () => {
  const user = await person('subject', 'Mona "Q" Lisa');
  const target = uuidv7();
  await rows(
    `insert into delivery_target (id, kind, owner_id, url) values (?, 'webhook', ?, 'https://x.example')`,
    [target, bob.id],
  );
  const sent = { subject: 'by subject', data: { by: 'Mona "Q" Lisa', amount: 1 } };
  const id = uuidv7();
  await rows(
    `insert into delivery
       (id, target_id, ord, run_id, seq, type, content_type, message_id, body, status, expires_at)
     values (?, ?, 1, ?, 1, 'x', 'application/json', 'm', ?, 'failed', now())`,
    [id, target, await runWith({}), JSON.stringify(sent)],
  );
  await erase(user.id, { confirm: 'subject', free_text: 'replace' });
  const [delivery] = await rows<{ body: string }>('select body from delivery where id = ?', [id]);
  expect(JSON.parse(delivery?.body ?? '')).toEqual({
    subject: `by erased-${user.id}`,
    data: { by: 'Erased user', amount: 1 },
  });
});
