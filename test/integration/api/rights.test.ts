/**
 * `can` of agents, workflows, runs and marketplace items against the endpoints: each person tries each
 * action.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { approve } from '../../support/marketplace.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let owner: TestUser;
let asOwner: Client;
let asAdmin: Client;
const people: Record<string, Client> = {};

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.createUser({ username: 'olga', roles: ['builder'] });
  asOwner = await app.as(owner);
  asAdmin = await app.as('admin');
  Object.assign(people, {
    owner: asOwner,
    admin: asAdmin,
    stranger: await app.as(await app.createUser({ roles: ['builder'] })),
    viewer: await app.as('viewer'),
  });
});
afterAll(() => app.close());

const sql = (text: string, values: unknown[]): Promise<unknown> => app.orm.em.fork().execute(text, values);

interface Kind {
  path: string;
  build(state: string): Promise<string>;
  states: string[];
  actions: Record<string, (who: Client, id: string) => Promise<Reply>>;
}

let counter = 0;
const definition = { do: [{ hello: { set: { hello: true } } }] };
const publish = (kind: string, version: string) => (who: Client, id: string) =>
  who.post('/marketplace/items', { kind, ref_id: id, version, name: `Item ${++counter}` });

async function agent(state: string): Promise<string> {
  const visibility = state.includes('public') ? 'public' : 'private';
  const { body } = await asOwner.post('/agents', {
    name: `Agent ${++counter}`,
    type: 'api',
    version: '1.0.0',
    visibility,
    configuration: { endpoint: 'https://example.com' },
  });
  const version = `/agents/${body.id}/versions/1.0.0`;
  if (/published|deprecated/.test(state)) await asOwner.post(`${version}/publish`);
  if (state.includes('deprecated')) await asOwner.post(`${version}/deprecate`);
  return body.id;
}

async function workflow(state: string, author = asOwner): Promise<string> {
  const broken = { do: [{ hello: { shout: true } }] };
  const definitionOfState = state.includes('invalid')
    ? broken
    : state.includes('unsupported')
      ? { do: [{ go: { run: { script: { language: 'js', code: '1' } } } }] }
      : definition;
  const { body } = await author.post('/workflows', {
    name: `workflow-${++counter}`,
    definition: definitionOfState,
    visibility: state.includes('public') ? 'public' : 'private',
  });
  return body.id;
}

async function run(state: string): Promise<string> {
  const status = state.split(',')[0] ?? '';
  const id = await insertRun(app.orm, { owner: owner.id, status: status as 'waiting' });
  const command = state.split('asked to ')[1];
  if (command !== undefined)
    await sql(`insert into run_signal (id, run_id, kind, payload) values (?, ?, ?, '{}')`, [
      uuidv7(),
      id,
      command,
    ]);
  const checkpoint = { scope: {}, root: { list: { index: 0, data: null, child: { raw: null } } } };
  if (state.includes('checkpoint')) {
    await sql('update run set definition = ?::jsonb where id = ?', [JSON.stringify(definition), id]);
    await sql('insert into run_checkpoint (run_id, state) values (?, ?::jsonb)', [
      id,
      JSON.stringify(checkpoint),
    ]);
  }
  if (state.includes('workflow')) {
    const of = await workflow(state, state.includes("admin's") ? asAdmin : asOwner);
    await sql('update run set workflow_id = ?, workflow_revision = 1 where id = ?', [of, id]);
    if (state.includes('deleted')) await asOwner.delete(`/workflows/${of}`);
  }
  return id;
}

async function item(state: string): Promise<string> {
  const { body } = await publish('workflow', '1')(asOwner, await workflow('private'));
  if (state.includes('approved')) await approve(asAdmin, body.id);
  if (state.includes('installed'))
    for (const client of Object.values(people)) await client.post(`/marketplace/items/${body.id}/install`);
  if (state.includes('rejected'))
    await asAdmin.post(`/marketplace/items/${body.id}/reject`, { reason: 'no' });
  if (state.includes('withdrawn')) await asOwner.delete(`/marketplace/items/${body.id}`);
  return body.id;
}

const post = (path: string, action: string, body?: unknown) => (who: Client, id: string) =>
  who.post(`${path}/${id}/${action}`, body);
const kinds: Record<string, Kind> = {
  agent: {
    path: '/agents',
    build: agent,
    states: ['private draft', 'public draft', 'public published', 'private published', 'public deprecated'],
    actions: {
      invoke: post('/agents', 'invoke', {}),
      update: (who, id) => who.patch(`/agents/${id}`, { description: 'changed' }),
      delete: (who, id) => who.delete(`/agents/${id}`),
      publish_version: post('/agents', 'versions/1.0.0/publish'),
      deprecate_version: post('/agents', 'versions/1.0.0/deprecate'),
      publish: publish('agent', '1.0.0'),
    },
  },
  workflow: {
    path: '/workflows',
    build: workflow,
    states: ['private', 'public', 'public invalid', 'public unsupported'],
    actions: {
      run: post('/workflows', 'run', {}),
      update: (who, id) => who.patch(`/workflows/${id}`, { description: 'changed' }),
      delete: (who, id) => who.delete(`/workflows/${id}`),
      publish: publish('workflow', '1'),
    },
  },
  run: {
    path: '/runs',
    build: run,
    states: [
      'pending',
      'running',
      'waiting',
      'suspended',
      'completed',
      'cancelled',
      'faulted',
      'faulted, with a checkpoint',
      'running, asked to suspend',
      'suspended, asked to resume',
      'running, asked to cancel',
      'suspended, asked to cancel',
      'completed, of a workflow',
      'running, of a public workflow',
      'completed, of an invalid workflow',
      'completed, of a deleted workflow',
      "faulted, with a checkpoint, of an admin's workflow",
      "faulted, with a checkpoint, of an admin's public workflow",
    ],
    actions: {
      ...Object.fromEntries(
        ['cancel', 'suspend', 'resume', 'retry', 'terminate'].map((action) => [
          action,
          post('/runs', action),
        ]),
      ),
      retry_with_changes: post('/runs', 'retry', { input: {} }),
      run_again: async (who, id) => {
        const seen = await who.get(`/runs/${id}`);
        return seen.status === 200 ? who.post(`/workflows/${seen.body.workflow_id}/run`, {}) : seen;
      },
    },
  },
  item: {
    path: '/marketplace/items',
    build: item,
    states: [
      'submitted',
      'approved',
      'approved, installed',
      'rejected',
      'approved, rejected',
      'approved, installed, withdrawn',
      'withdrawn',
    ],
    actions: {
      install: post('/marketplace/items', 'install'),
      review: post('/marketplace/items', 'reviews', { rating: 4 }),
      approve: post('/marketplace/items', 'approve'),
      reject: post('/marketplace/items', 'reject', { reason: 'no' }),
      withdraw: (who, id) => who.delete(`/marketplace/items/${id}`),
    },
  },
};

/** These actions succeed without changing anything, so the record does not offer them. */
const idle = new Set([
  'run cancelled: cancel',
  'run suspended: suspend',
  'run running, asked to suspend: suspend',
  'run suspended, asked to resume: resume',
  'run running, asked to cancel: cancel',
  'run suspended, asked to cancel: cancel',
  'item withdrawn: withdraw',
  'item approved, installed, withdrawn: withdraw',
]);

const cases = Object.entries(kinds).flatMap(([kind, { states }]) =>
  states.map((state) => [kind, state] as const),
);
async function expectAsListed(name: string, state: string, personName: string): Promise<void> {
  const kind = kinds[name] as Kind;
  const person = people[personName] as Client;
  for (const [action, attempt] of Object.entries(kind.actions)) {
    const id = await kind.build(state);
    const { status, body } = await person.get(`${kind.path}/${id}`);
    const listed = (await person.get(`${kind.path}?limit=20`)).body.find(
      ({ id: listedId }: { id: string }) => listedId === id,
    );
    const reply = await attempt(person, id);
    const changes = reply.status < 300 && !idle.has(`${name} ${state}: ${action}`);
    const can = status === 200 && body.can.includes(action);
    expect(listed?.can ?? body.can).toEqual(body.can);
    const attempted = `${personName}, ${action}: ${reply.status} ${reply.body?.code ?? ''}`;
    expect(`${attempted} ${can}`).toBe(`${attempted} ${changes}`);
  }
}

test.each(cases)('a record lists exactly the actions that succeed: %s, %s', async (name, state) => {
  const tried = Object.keys(people).map((person) => expectAsListed(name, state, person));
  expect(await Promise.all(tried)).toHaveLength(4);
});
