import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { agentTask } from '../../support/definitions.ts';

let app: TestApp;
let author: TestUser;
let stranger: TestUser;
let client: Client;

beforeAll(async () => {
  app = await startTestApp();
  author = await app.createUser({ roles: ['builder'] });
  stranger = await app.createUser({ roles: ['builder'] });
  client = await app.as(author);
});

afterAll(async () => {
  await app.close();
});

async function insertAgent(
  owner: TestUser,
  name: string,
  visibility: 'private' | 'public' = 'private',
): Promise<string> {
  const id = uuidv7();
  await app.orm.em
    .fork()
    .execute(
      `insert into agent (id, name, type, version, owner_id, visibility) values (?, ?, 'api', '1.0.0', ?, ?)`,
      [id, name, owner.id, visibility],
    );
  await app.orm.em.fork().execute(
    `insert into agent_version (id, agent_id, version, configuration, input_schema, output_schema, status,
        created_by) values (?, ?, '1.0.0', '{}', '{}', '{}', 'published', ?)`,
    [uuidv7(), id, owner.id],
  );
  return id;
}

function calling(...agents: string[]): object {
  return {
    do: agents.map((agent, index) => ({
      [`step${index}`]: agentTask(agent, { version: '^1.0.0' }),
    })),
  };
}

async function save(definition: object, who = client): Promise<any> {
  const reply = await who.post('/workflows', { name: 'w', definition });
  expect(reply.status).toBe(201);
  return reply.body;
}

async function resolved(workflowId: string): Promise<unknown> {
  const [row] = await app.orm.em
    .fork()
    .execute<{ agents: unknown }[]>(
      'select agents from workflow_revision where workflow_id = ? order by revision desc limit 1',
      [workflowId],
    );
  return row?.agents;
}

test("an agent name means the owner's agent before public ones", async () => {
  await insertAgent(stranger, 'checker', 'public');
  await insertAgent(stranger, 'checker', 'public');
  const own = await insertAgent(author, 'checker');
  const saved = await save(calling('checker', own));
  expect(saved).toMatchObject({ valid: true, runnable: true, problems: [] });
  expect(saved.definition.do[0].step0.with.agent).toBe('checker');
  expect(await resolved(saved.id)).toEqual([
    { pointer: '/do/0/step0/with/agent', agent: 'checker', agent_id: own, version: '^1.0.0' },
    { pointer: '/do/1/step1/with/agent', agent: own, agent_id: own, version: '^1.0.0' },
  ]);
});

test('a public agent name has to be unique', async () => {
  const only = await insertAgent(stranger, 'single', 'public');
  await insertAgent(stranger, 'single', 'private');
  await insertAgent(stranger, 'twice', 'public');
  await insertAgent(stranger, 'twice', 'public');
  const saved = await save(calling('single', 'twice'));
  expect(saved).toMatchObject({
    valid: false,
    problems: [
      {
        pointer: '/do/1/step1/with/agent',
        code: 'ambiguous_agent',
        severity: 'error',
        message: 'there are several agents "twice": name one by its id',
      },
    ],
  });
  expect(await resolved(saved.id)).toMatchObject([{ agent_id: only }]);
});

test('private agents of other users cannot be found by name or id', async () => {
  const hidden = await insertAgent(stranger, 'hidden');
  const saved = await save(calling('hidden', hidden));
  expect(
    saved.problems.map(({ code, message }: { code: string; message: string }) => [code, message]),
  ).toEqual([
    ['unknown_agent', 'there is no agent "hidden" that you can see'],
    ['unknown_agent', `there is no agent "${hidden}" that you can see`],
  ]);
  const published = await insertAgent(stranger, 'open', 'public');
  expect((await save(calling(published))).valid).toBe(true);
});

test('a misspelt agent name gets the nearest one as a suggestion', async () => {
  await insertAgent(author, 'summarizer');
  const reply = await client.post('/workflows/validate', { definition: calling('summariser') });
  expect(reply.body).toEqual({
    valid: false,
    runnable: false,
    problems: [
      {
        pointer: '/do/0/step0/with/agent',
        code: 'unknown_agent',
        message: 'there is no agent "summariser" that you can see, did you mean "summarizer"?',
        severity: 'error',
      },
    ],
  });
});

test('saving the same definition again finds a new agent and gives a new revision', async () => {
  const definition = calling('later');
  const draft = await save(definition);
  expect(draft.valid).toBe(false);
  await insertAgent(author, 'later');
  const again = await client.patch(`/workflows/${draft.id}`, { definition });
  expect(again.body).toMatchObject({ revision: 2, valid: true, problems: [] });
  expect((await client.patch(`/workflows/${draft.id}`, { definition })).body.revision).toBe(2);
});

test('reading or running a workflow finds agents that have been registered since', async () => {
  const { id } = await save(calling('soon', 'never'));
  await insertAgent(author, 'soon');
  const half = await client.get(`/workflows/${id}`);
  expect([half.body.revision, half.body.problems.map(({ message }: any) => message)]).toEqual([
    2,
    ['there is no agent "never" that you can see'],
  ]);
  expect((await client.get(`/workflows/${id}`)).body.revision).toBe(2);
  await insertAgent(author, 'never');
  const run = await client.post(`/workflows/${id}/run`, {});
  expect([run.status, run.body.workflow_revision]).toEqual([201, 3]);
  expect((await client.get(`/workflows/${id}`)).body).toMatchObject({ valid: true, problems: [] });
});

test('a workflow that an admin changes resolves agents with the rights of its owner', async () => {
  const { id } = await save(calling('checker'));
  const admin = await app.as('admin');
  const theirs = await insertAgent(await app.user('admin'), 'admins-own');
  const changed = await admin.patch(`/workflows/${id}`, { definition: calling('checker', theirs) });
  expect(changed.body.problems).toMatchObject([{ code: 'unknown_agent', pointer: '/do/1/step1/with/agent' }]);
});

test('an agent given by an expression is resolved at run time, any other on saving', async () => {
  const own = await insertAgent(author, 'in-a-function');
  const saved = await save({
    use: { functions: { ask: agentTask('in-a-function') } },
    do: [{ a: { call: 'ask' } }, { b: agentTask('${ .agent }') }],
  });
  expect(saved.valid).toBe(true);
  expect(await resolved(saved.id)).toEqual([
    { pointer: '/use/functions/ask/with/agent', agent: 'in-a-function', agent_id: own, version: null },
  ]);
});
