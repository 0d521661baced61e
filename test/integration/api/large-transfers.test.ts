/** Transfers of more than one transaction moves, and what everybody sees until they end. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { pinAgent } from '../../../domain/registry/pin.ts';
import { beginTransfer } from '../../../domain/transfers/begin.ts';
import { continueTransfers } from '../../../domain/transfers/continue.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { httpTask } from '../../support/definitions.ts';
import { createdWorkflow } from '../../support/marketplace.ts';

/** More than one transaction moves: ten batches of 500 rows. */
const MANY = 5_200;

let app: TestApp;
let admin: Client;
let boss: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  boss = await app.createUser({ roles: ['admin'] });
  admin = await app.as(boss);
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const sql = (text: string, values: unknown[] = []) => fork().execute<any[]>(text, values);

interface Person {
  user: TestUser;
  client: Client;
}

async function person(quotas: Record<string, number> | null = null): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  if (quotas) expect((await admin.patch(`/users/${user.id}`, { quotas })).status).toBe(200);
  return { user, client: await app.as(user) };
}

/** A live run and many ended ones, many files of ten bytes, some agents. */
async function owner(): Promise<Person & { workflow: string; run: string; agent: string }> {
  const { user, client } = await person();
  const { id: workflow } = await createdWorkflow(client, { do: [{ a: httpTask('https://a.example') }] });
  const { id: run } = (await client.post(`/workflows/${workflow}/run`)).body;
  await sql(
    `insert into run select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(),
              'status', 'completed', 'finished_at', clock_timestamp()))).*
       from run r, generate_series(1, ?) where r.id = ?`,
    [MANY, run],
  );
  await sql(
    `insert into file (id, owner_id, name, media_type, size, sha256)
     select gen_random_uuid(), ?, 'f', 'text/plain', 10, repeat('0', 64) from generate_series(1, ?)`,
    [user.id, MANY],
  );
  const { id: agent } = (await client.post('/agents', agentBody())).body;
  return { user, client, workflow, run, agent };
}

/** The request's transaction alone, as if the process were killed after its commit. */
async function begin(from: Person, to: Person): Promise<void> {
  const { encryption, env } = app.app.deps;
  const actor = { id: boss.id, username: boss.username, roles: boss.roles, groups: [] };
  await fork().transactional((em) =>
    beginTransfer(em, { encryption, limits: env }, actor, { from: from.user.id, to: to.user.id }),
  );
}

/** Continues until it is killed in the middle of a transaction, which is lost. */
async function killedIn(statements: number): Promise<void> {
  let left = statements;
  const dying = () => {
    const em = fork();
    const execute = em.transactional.bind(em);
    em.transactional = ((work: any) =>
      execute(async (inner) => {
        const result = await work(inner);
        left -= 1;
        if (left < 0) throw new Error('killed');
        return result;
      })) as typeof em.transactional;
    return em;
  };
  await continueTransfers(dying, 60_000).catch(() => true);
}

async function held(table: 'run' | 'file', ...people: Person[]): Promise<number[]> {
  const counts = people.map(({ user }) =>
    sql(`select count(*)::int as count from ${table} where owner_id = ?`, [user.id]),
  );
  return (await Promise.all(counts)).map(([row]) => row.count);
}
const sum = (numbers: number[]): number => numbers.reduce((all, one) => all + one, 0);
const transferOf = async ({ user }: Person) => (await admin.get(`/users/${user.id}/transfer`)).body;
const bytesOf = async ({ client }: Person): Promise<number> =>
  (await client.get('/usage/limits')).body.limits.find((one: any) => one.name === 'stored_bytes').used;
const upload = ({ client }: Person) =>
  client.post('/files', '0123456789', { headers: { 'content-type': 'text/plain' } });

test('what one transaction does not move follows, whoever is killed, and nothing is lost', async () => {
  const [ann, bob] = [await owner(), await person()];
  const configuration = { endpoint: 'https://a.example', headers: { a: '<KEPT>', b: '<LATE>' } };
  expect((await ann.client.patch(`/agents/${ann.agent}`, { configuration })).status).toBe(200);
  await ann.client.put('/secrets/KEPT', { value: 'of ann' });
  await begin(ann, bob);
  // It does not come along any more, so the agent must not read one of bob's.
  await ann.client.put('/secrets/LATE', { value: 'of ann' });
  // What decides about others has moved at once; the agent is still on its way, and in use already.
  expect((await bob.client.get(`/workflows/${ann.workflow}`)).status).toBe(200);
  expect((await bob.client.get(`/runs/${ann.run}`)).body.owner_id).toBe(bob.user.id);
  expect((await ann.client.get(`/workflows/${ann.workflow}`)).status).toBe(404);
  const named = { agent: ann.agent, version: 'draft' };
  expect(await pinAgent(fork(), bob.user.id, named)).toMatchObject({ found: true });
  const half = await held('run', ann, bob);
  expect(half.every((count) => count > 0) && sum(half)).toBe(MANY + 1);
  expect(await transferOf(ann)).toMatchObject({ status: 'running', to: bob.user.id, workflows: 1 });
  expect((await admin.post(`/users/${ann.user.id}/erase`, { confirm: ann.user.username })).body.code).toBe(
    'transfer_running',
  );

  for (let batches = 0; batches < 10; batches += 1) {
    await killedIn(1);
    expect([sum(await held('run', ann, bob)), sum(await held('file', ann, bob))]).toEqual([MANY + 1, MANY]);
    expect(await bytesOf(bob)).toBe(10 * MANY);
  }
  await Promise.all([1, 2, 3].map(() => continueTransfers(fork, 60_000)));
  expect([await held('run', ann, bob), await held('file', ann, bob)]).toEqual([
    [0, MANY + 1],
    [0, MANY],
  ]);
  const counts = { workflows: 1, runs: MANY + 1, files: MANY, agents: 1 };
  expect(await transferOf(ann)).toMatchObject({ status: 'done', ...counts });
  expect((await bob.client.get(`/agents/${ann.agent}`)).body).toMatchObject({
    owner_id: bob.user.id,
    configuration: { headers: { a: '<KEPT>', b: '<UNBOUND:LATE>' } },
  });
  const finished = await admin.get(`/audit?action=transfer_finished&object_id=${ann.user.id}`);
  expect(finished.body).toMatchObject([{ via: 'system', details: { to: bob.user.id, counts } }]);
  // Again, when there is nothing left.
  const again = await admin.post(`/users/${ann.user.id}/transfer`, { to: bob.user.id });
  expect(again).toMatchObject({ status: 200, body: { status: 'done', runs: 0, files: 0, workflows: 0 } });
});

test('the same request again is harmless, and of two to different users one wins', async () => {
  const [ann, bob, carl] = [await owner(), await person(), await person()];
  const asked = (to: Person) => admin.post(`/users/${ann.user.id}/transfer`, { to: to.user.id });
  const replies = await Promise.all([asked(bob), asked(carl), asked(bob)]);
  const winner = replies[1]?.status === 409 ? bob : carl;
  for (const { status, body } of replies)
    expect(status === 409 ? body.code : body.to).toBe(status === 409 ? 'transfer_running' : winner.user.id);
  while (await continueTransfers(fork, 60_000));
  expect((await held('run', ann, winner))[1]).toBe(MANY + 1);
  expect(await transferOf(ann)).toMatchObject({ status: 'done', runs: MANY + 1, files: MANY });
});

test('what is still on its way counts for the new owner, and no chain of transfers begins', async () => {
  const [ann, bob] = [await owner(), await person({ stored_bytes: 10 * MANY - 1 })];
  const refused = await admin.post(`/users/${ann.user.id}/transfer`, { to: bob.user.id });
  expect(refused).toMatchObject({ status: 409, body: { code: 'limit_reached', quota: 'stored_bytes' } });
  expect((await admin.get(`/users/${ann.user.id}/transfer`)).status).toBe(404);
  expect(await held('run', ann, bob)).toEqual([MANY + 1, 0]);

  await admin.patch(`/users/${bob.user.id}`, { quotas: { stored_bytes: 10 * MANY + 10 } });
  await begin(ann, bob);
  const added = await Promise.all([upload(ann), upload(bob), upload(ann), upload(bob)]);
  expect(added.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
  for (const [from, to] of [
    [bob, await person()],
    [await person(), ann],
  ] as const)
    expect((await admin.post(`/users/${from.user.id}/transfer`, { to: to.user.id })).body.code).toBe(
      'transfer_running',
    );
  await continueTransfers(fork, 60_000);
  const more = await bytesOf(bob);
  expect(more).toBeLessThanOrEqual(10 * MANY + 10);
});
