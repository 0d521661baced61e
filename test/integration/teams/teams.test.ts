/** Teams over HTTP: who belongs to them, what they hold, and who may start workflows (docs/teams.md). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import type { Role } from '../../../contracts/roles.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { checkScopes } from '../../../domain/auth/access-tokens.ts';
import { createChannel, openChannelUrl } from '../../../domain/notifications/channels.ts';
import { linkFiles, readableFiles } from '../../../domain/files/run-files.ts';
import { findRecipients } from '../../../domain/notifications/recipients.ts';
import { pinAgent } from '../../../domain/registry/pin.ts';
import { createJob } from '../../../domain/jobs/job.ts';
import { continueTeamEnds } from '../../../domain/teams/end.ts';
import { requireMembership } from '../../../domain/teams/holding.ts';
import { continueMoves } from '../../../domain/teams/move-history.ts';
import { sendPush } from '../../support/github-push.ts';
import { allowedMs } from '../../support/machine.ts';
import { openStream } from '../../support/sse-client.ts';
import { until } from '../../support/platform.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { approvedItem, publishedAgent } from '../../support/marketplace.ts';

const definition = { do: [{ first: { set: { a: 1 } } }] };

let app: TestApp;
let admin: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
});
afterAll(() => app.close());

interface Person {
  user: TestUser;
  client: Client;
}

async function person(roles: Role[] = ['viewer'], groups: string[] = []): Promise<Person> {
  count += 1;
  const user = await app.createUser({ username: `person-${count}`, roles, groups });
  return { user, client: await app.as(user) };
}

interface TeamWorld extends Record<Role, Person> {
  id: string;
}

/** A team with a member of each role, who all are viewers on the platform. */
async function newTeam(): Promise<TeamWorld> {
  count += 1;
  const lead = await person();
  const team = created(await admin.post('/teams', { name: `team-${count}`, admin: lead.user.id }));
  const members = { admin: lead } as TeamWorld;
  for (const role of ['viewer', 'approver', 'builder'] as const) {
    members[role] = await person();
    created(await lead.client.put(`/teams/${team.id}/members/${members[role].user.id}`, { role }));
  }
  return { ...members, id: team.id };
}

function created(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

async function statuses(people: Person[], ask: (client: Client) => Promise<Reply>): Promise<number[]> {
  return Promise.all(people.map(async ({ client }) => (await ask(client)).status));
}

const inOrder = (team: TeamWorld): Person[] => [team.viewer, team.approver, team.builder, team.admin];

describe('a team', () => {
  let team: TeamWorld;
  beforeEach(async () => {
    team = await newTeam();
  });

  test('holds what its builders make for it, whatever their role on the platform', async () => {
    const refused = await team.viewer.client.post('/agents', agentBody({ team_id: team.id }));
    expect(refused.status).toBe(403);
    expect((await team.builder.client.post('/agents', agentBody())).status).toBe(403);
    const agent = created(await team.builder.client.post('/agents', agentBody({ team_id: team.id })));
    expect(agent).toMatchObject({ team_id: team.id, owner_id: team.builder.user.id, visibility: 'private' });
    const { client: stranger } = await person(['builder']);
    expect((await stranger.get(`/agents/${agent.id}`)).status).toBe(404);
    expect(await statuses(inOrder(team), (client) => client.get(`/agents/${agent.id}`))).toEqual([
      200, 200, 200, 200,
    ]);
    const change = (client: Client): Promise<Reply> =>
      client.patch(`/agents/${agent.id}`, { description: 'changed' });
    expect(await statuses(inOrder(team), change)).toEqual([403, 403, 200, 200]);
    for (const { client } of inOrder(team)) {
      const listed = await client.get(`/agents?team_id=${team.id}`);
      expect(listed.body.map(({ id }: { id: string }) => id)).toEqual([agent.id]);
    }
    expect((await stranger.get(`/agents?team_id=${team.id}`)).body).toEqual([]);
    expect((await stranger.post('/agents', agentBody({ team_id: team.id }))).body.errors[0].code).toBe(
      'unknown_team',
    );
  });

  test('has secrets of its own, which its agents read', async () => {
    const path = `/secrets/TEAM_KEY?team_id=${team.id}`;
    expect((await team.viewer.client.put(path, { value: 'sesame' })).status).toBe(403);
    expect((await team.builder.client.put(path, { value: 'sesame' })).status).toBe(201);
    expect((await team.builder.client.get('/secrets')).body).toEqual([]);
    expect((await team.viewer.client.get(`/secrets?team_id=${team.id}`)).body).toMatchObject([
      { name: 'TEAM_KEY' },
    ]);
    const configuration = { endpoint: 'https://a.example.com', headers: { 'X-Key': '<TEAM_KEY>' } };
    const body = agentBody({ team_id: team.id, configuration });
    expect(created(await team.builder.client.post('/agents', body)).warnings).toEqual([]);
  });

  test('has inbound webhooks and event sources, with its secrets and for its events', async () => {
    const { builder, viewer } = team;
    const stranger = await person(['builder']);
    const hook = { name: 'Pushes', scheme: 'github', secret: 'PUSH_KEY', team_id: team.id };
    await builder.client.put('/secrets/PUSH_KEY', { value: 'a key of the builder alone' });
    expect((await builder.client.post('/hooks', hook)).body.errors[0].code).toBe('invalid_secret');
    await builder.client.put(`/secrets/PUSH_KEY?team_id=${team.id}`, { value: 'a key of the whole team' });
    expect((await viewer.client.post('/hooks', hook)).status).toBe(403);
    expect((await stranger.client.post('/hooks', hook)).body.errors[0].code).toBe('unknown_team');
    const made = created(await builder.client.post('/hooks', hook));
    expect(made).toMatchObject({ team_id: team.id, owner_id: builder.user.id });
    expect((await sendPush(app, made.id, 'a key of the builder alone')).status).toBe(401);
    expect((await sendPush(app, made.id, 'a key of the whole team')).status).toBe(202);
    await app.orm.em
      .fork()
      .execute(`update user_account set status = 'disabled' where id = ?`, [builder.user.id]);
    expect((await sendPush(app, made.id, 'a key of the whole team')).status).toBe(202);

    const source = created(
      await team.admin.client.post('/event-sources', {
        source: '/till',
        user_id: team.admin.user.id,
        team_id: team.id,
      }),
    );
    expect(source).toMatchObject({ team_id: team.id });
    const second = await person();
    created(await team.admin.client.put(`/teams/${team.id}/members/${second.user.id}`, { role: 'builder' }));
    const event = { specversion: '1.0', id: '1', source: '/till', type: 'sold' };
    const headers = { 'content-type': 'application/cloudevents+json' };
    const send = ({ client }: Person, query = `?team_id=${team.id}`): Promise<Reply> =>
      client.post(`/events${query}`, event, { headers });
    expect((await send(second)).body.code).toBe('source_bound');
    expect((await send(second, '')).status).toBe(403);
    expect((await send(stranger, '')).status).toBe(202);
    expect((await send(team.admin)).body.duplicate).toBe(false);
    expect((await send(team.admin)).body.duplicate).toBe(true);
    const received = (await second.client.get(`/events/received?team_id=${team.id}&type=sold`)).body;
    expect(received).toMatchObject([{ team_id: team.id, owner_id: team.id }]);
    expect((await stranger.client.get(`/events/received?team_id=${team.id}`)).body).toEqual([]);
    expect((await admin.delete(`/teams/${team.id}`)).body.holds).toMatchObject({
      inbound_webhooks: 1,
      event_sources: 1,
    });
  });

  test('gets what sets make for it, with its own secrets', async () => {
    const { builder, viewer } = team;
    const definition = { use: { secrets: ['key'] }, do: [{ first: { set: { a: 1 } } }] };
    const workflow = { kind: 'workflow', name: 'ours', definition };
    const apply = (more: object): Promise<Reply> =>
      builder.client.post('/apply', { set: 'payroll', resources: [workflow], ...more });
    await builder.client.put('/secrets/key', { value: 'mine' });
    expect((await apply({})).status).toBe(403);
    expect((await apply({ team_id: team.id })).body.problems[0]).toMatchObject({
      code: 'unknown_secret',
      message: `there is no secret key: store it with PUT /secrets/key?team_id=${team.id}`,
    });
    await builder.client.put(`/secrets/key?team_id=${team.id}`, { value: 'ours' });
    const [{ id }] = created(await apply({ team_id: team.id })).plan;
    expect((await viewer.client.get(`/workflows/${id}`)).body).toMatchObject({ team_id: team.id });
    const second = await person();
    created(await team.admin.client.put(`/teams/${team.id}/members/${second.user.id}`, { role: 'builder' }));
    const again = { set: 'payroll', team_id: team.id, resources: [workflow] };
    expect(created(await second.client.post('/apply', again)).plan).toMatchObject([
      { action: 'unchanged', id },
    ]);
    const listed = await viewer.client.get(`/apply?team_id=${team.id}`);
    expect(listed.body).toMatchObject([{ id, set: 'payroll' }]);
    const stranger = await person(['builder']);
    expect((await stranger.client.post('/apply', again)).body.errors[0].code).toBe('unknown_team');
    expect((await stranger.client.get(`/apply?team_id=${team.id}`)).status).toBe(422);
  });

  test('gets items of the marketplace once, which use what it holds', async () => {
    const { builder, viewer } = team;
    const publisher = await person(['builder']);
    const configuration = { endpoint: 'https://a.example.com', headers: { 'X-Key': '<KEY>' } };
    const published = await publishedAgent(publisher.client, { name: 'Item', configuration });
    const item = await approvedItem(publisher.client, admin, published);
    const path = `/marketplace/items/${item.id}/install`;
    const install = ({ client }: Person, secrets = {}): Promise<Reply> =>
      client.post(path, { team_id: team.id, secrets });
    expect((await install(viewer)).status).toBe(403);
    await builder.client.put('/secrets/MINE', { value: 'of the builder' });
    expect((await install(builder, { KEY: 'MINE' })).body.errors[0]).toMatchObject({
      code: 'unknown_secret',
      message: `there is no secret "MINE": add it with PUT /secrets/MINE?team_id=${team.id}`,
    });
    await builder.client.put(`/secrets/OURS?team_id=${team.id}`, { value: 'of the team' });
    const copy = created(await install(builder, { KEY: 'OURS' }));
    const agent = (await viewer.client.get(`/agents/${copy.ref_id}`)).body;
    expect(agent).toMatchObject({ team_id: team.id, owner_id: builder.user.id, warnings: [] });
    const second = await person(['builder']);
    created(await team.admin.client.put(`/teams/${team.id}/members/${second.user.id}`, { role: 'builder' }));
    const again = await install(second);
    expect([again.status, again.body.ref_id]).toEqual([200, copy.ref_id]);
    const own = await second.client.post(path, {});
    expect([own.status, own.body.ref_id === copy.ref_id]).toEqual([201, false]);
    const plan = await second.client.get(`${path}?team_id=${team.id}`);
    expect(plan.body.copy).toMatchObject({ ref_id: copy.ref_id });
  });

  test('sees and raises the budgets of what it holds, and nobody else does', async () => {
    const owner = await person(['builder']);
    created(await team.admin.client.put(`/teams/${team.id}/members/${owner.user.id}`, { role: 'builder' }));
    const body = agentBody({ team_id: team.id, budget: { max_invocations: 1 } });
    const { id } = created(await owner.client.post('/agents', body));
    expect(await statuses(inOrder(team), (client) => client.get(`/budgets/${id}`))).toEqual([
      200, 200, 200, 200,
    ]);
    expect((await team.viewer.client.get('/budgets')).body).toMatchObject([
      { id, team_id: team.id, can: [] },
    ]);
    expect((await owner.client.post(`/budgets/${id}/raise`, { invocations: 1 })).status).toBe(200);
    created(await team.admin.client.delete(`/teams/${team.id}/members/${owner.user.id}`));
    expect((await owner.client.get(`/budgets/${id}`)).status).toBe(404);
    expect((await owner.client.get('/budgets?subject=agent')).body).toEqual([]);
  });

  test('gives its secrets to the workers of its agents, which are models for admins, too', async () => {
    created(await team.builder.client.put(`/secrets/TEAM_KEY?team_id=${team.id}`, { value: 'sesame' }));
    const body = agentBody({ team_id: team.id, execution_type: 'edge' });
    const agent = created(await team.builder.client.post('/agents', body));
    await createJob(app.orm.em.fork(), {
      run_id: await insertRun(app.orm, { owner: team.builder.user.id }),
      key: 'k',
      kind: 'worker',
      task: '/do/0/far',
      visit: 1,
      attempt: 1,
      // As runs pin it.
      agent: { ...agent, owner_id: team.id, output_schema: {} },
      queue: 'default',
      input: {},
      configuration: { settings: { key: '<TEAM_KEY>' } },
      repeatable: true,
      maxAttempts: 5,
      leaseMs: 60_000,
      timeoutMs: 3_600_000,
    });
    const worker = await person(['builder']);
    created(await team.admin.client.put(`/teams/${team.id}/members/${worker.user.id}`, { role: 'builder' }));
    const polled = await worker.client.post(`/agents/${agent.id}/jobs/poll`, { wait_seconds: 5 });
    expect(polled.body).toMatchObject([{ settings: { key: 'sesame' } }]);
    expect((await admin.get(`/v1/models/${agent.id}`)).status).toBe(200);
  });

  test('ends with its last object only', async () => {
    const workflow = created(
      await team.builder.client.post('/workflows', { name: 'expense', definition, team_id: team.id }),
    );
    const refused = await team.admin.client.delete(`/teams/${team.id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'team_owns_objects']);
    created(await team.builder.client.delete(`/workflows/${workflow.id}`));
    expect((await team.builder.client.delete(`/teams/${team.id}`)).status).toBe(403);
    expect((await team.admin.client.delete(`/teams/${team.id}`)).status).toBe(204);
    expect((await admin.get(`/teams/${team.id}`)).status).toBe(404);
  });

  test('keeps its last admin', async () => {
    const { client, user } = team.admin;
    const own = `/teams/${team.id}/members/${user.id}`;
    expect((await client.put(own, { role: 'viewer' })).body.code).toBe('last_team_admin');
    expect((await client.delete(own)).body.code).toBe('last_team_admin');
    // Somebody who cannot log in is none.
    const other = await person();
    created(await client.put(`/teams/${team.id}/members/${other.user.id}`, { role: 'admin' }));
    created(await admin.patch(`/users/${other.user.id}`, { status: 'disabled' }));
    expect((await client.delete(own)).body.code).toBe('last_team_admin');
    created(await client.put(`/teams/${team.id}/members/${team.builder.user.id}`, { role: 'admin' }));
    expect((await client.delete(own)).status).toBe(204);
    expect((await client.get(`/teams/${team.id}`)).status).toBe(404);
  });

  test('takes what a former member has made for it', async () => {
    const agent = created(await team.builder.client.post('/agents', agentBody({ team_id: team.id })));
    created(await team.admin.client.delete(`/teams/${team.id}/members/${team.builder.user.id}`));
    expect((await team.builder.client.get(`/agents/${agent.id}`)).status).toBe(404);
    expect((await team.admin.client.get(`/agents/${agent.id}`)).body.owner_id).toBe(team.admin.user.id);
  });
});

describe('the end of a membership', () => {
  test('counts within a second on every copy, for open streams too', async () => {
    const team = await newTeam();
    const made = { name: 'expense', definition, team_id: team.id };
    const workflow = created(await team.builder.client.post('/workflows', made));
    const run = created(await team.admin.client.post(`/workflows/${workflow.id}/run`));
    // A copy answers at the same address, so it takes the same tokens.
    const env = { BASE_URL: app.url };
    const other = await startTestApp({ databaseUrl: app.databaseUrl, keepsCallers: true, env });
    try {
      const { user } = team.builder;
      const client = await other.as(user);
      const read = (): Promise<Reply> => client.get(`/workflows/${workflow.id}`);
      await until(read, ({ status }) => status === 200);
      const headers = { authorization: `Bearer ${user.token}` };
      const stream = await openStream(`${other.url}/runs/${run.id}/events`, { headers });
      const beganAt = performance.now();
      created(await team.admin.client.delete(`/teams/${team.id}/members/${user.id}`));
      await until(read, ({ status }) => status === 404);
      expect(performance.now() - beganAt).toBeLessThan(allowedMs(1_000));
      // It sends nothing more from the next check of sessions on.
      await stream.ended;
    } finally {
      await other.close();
    }
  });

  test('and a start at the same time have an order', async () => {
    const team = await newTeam();
    const made = { name: 'expense', definition, team_id: team.id };
    const { id } = created(await team.builder.client.post('/workflows', made));
    for (let round = 0; round < 5; round += 1) {
      const [started, removed] = await Promise.all([
        team.builder.client.post(`/workflows/${id}/run`),
        team.admin.client.delete(`/teams/${team.id}/members/${team.builder.user.id}`),
      ]);
      expect([201, 403, 404]).toContain(started.status);
      expect(removed.status).toBe(204);
      // Without a team they are viewers, who start nothing.
      expect((await team.builder.client.post(`/workflows/${id}/run`)).status).toBe(403);
      if (started.status === 201)
        expect((await team.builder.client.get(`/runs/${started.body.id}`)).body.logs).toEqual([]);
      const member = `/teams/${team.id}/members/${team.builder.user.id}`;
      created(await team.admin.client.put(member, { role: 'builder' }));
    }
  });

  test('waits for a start that holds it', async () => {
    const team = await newTeam();
    const em = app.orm.em.fork();
    await em.begin();
    await requireMembership(em, team.builder.user, team.id, 'builder');
    let isRemoved = false;
    const removal = team.admin.client
      .delete(`/teams/${team.id}/members/${team.builder.user.id}`)
      .then(({ status }) => {
        isRemoved = true;
        return status;
      });
    const waits = `select 1 from pg_stat_activity
                    where wait_event_type = 'Lock' and datname = current_database()`;
    await until(
      () => app.orm.em.fork().execute(waits),
      (rows) => rows.length > 0,
    );
    expect(isRemoved).toBe(false);
    await em.commit();
    expect(await removal).toBe(204);
  });
});

describe('moving an object', () => {
  test('between a user and a team keeps versions, secrets and runs', async () => {
    const team = await newTeam();
    const owner = await person(['builder']);
    created(await team.admin.client.put(`/teams/${team.id}/members/${owner.user.id}`, { role: 'admin' }));
    const configuration = { endpoint: 'https://a.example.com', headers: { 'X-Api-Key': 'sesame' } };
    const agent = created(await owner.client.post('/agents', agentBody({ configuration })));
    const workflow = created(await owner.client.post('/workflows', { name: 'expense', definition }));
    const run = created(await owner.client.post(`/workflows/${workflow.id}/run`));
    expect((await team.builder.client.get(`/runs/${run.id}`)).status).toBe(404);
    for (const path of [`/agents/${agent.id}`, `/workflows/${workflow.id}`])
      expect(created(await owner.client.patch(path, { team_id: team.id }))).toMatchObject({
        team_id: team.id,
        owner_id: owner.user.id,
      });
    expect((await team.viewer.client.get(`/agents/${agent.id}`)).body).toMatchObject({
      warnings: [],
      versions: [{ version: agent.version }],
    });
    expect(await statuses(inOrder(team), (client) => client.get(`/runs/${run.id}`))).toEqual([
      404, 404, 200, 200,
    ]);
    expect((await team.builder.client.get(`/runs?team_id=${team.id}`)).body).toMatchObject([{ id: run.id }]);
    const back = (client: Client): Promise<Reply> => client.patch(`/agents/${agent.id}`, { team_id: null });
    expect((await back(team.builder.client)).status).toBe(403);
    expect((await back(owner.client)).body).toMatchObject({ team_id: null, owner_id: owner.user.id });
    expect((await team.viewer.client.get(`/agents/${agent.id}`)).status).toBe(404);
  });

  test('is refused if the team has another secret of a name that it reads', async () => {
    const team = await newTeam();
    const owner = await person(['builder']);
    created(await team.admin.client.put(`/teams/${team.id}/members/${owner.user.id}`, { role: 'builder' }));
    created(await owner.client.put('/secrets/KEY', { value: 'mine' }));
    created(await owner.client.put(`/secrets/KEY?team_id=${team.id}`, { value: 'theirs' }));
    const configuration = { endpoint: 'https://a.example.com', headers: { 'X-Key': '<KEY>' } };
    const agent = created(await owner.client.post('/agents', agentBody({ configuration })));
    const refused = await owner.client.patch(`/agents/${agent.id}`, { team_id: team.id });
    expect(refused.body).toMatchObject({ status: 409, code: 'secret_names_taken', secrets: ['KEY'] });
    expect((await owner.client.get(`/agents/${agent.id}`)).body.team_id).toBeNull();
  });
});

describe('a runner', () => {
  test('starts the workflow whatever their role, and sees only its name and input schema', async () => {
    const team = await newTeam();
    const runner = await person(['viewer'], ['employees']);
    const other = await person();
    const input = { schema: { format: 'json', document: { type: 'object', required: ['amount'] } } };
    const body = { name: 'expense', definition: { ...definition, input }, team_id: team.id };
    const workflow = created(
      await team.builder.client.post('/workflows', { ...body, runners: { groups: ['employees'] } }),
    );
    expect((await runner.client.get(`/workflows/${workflow.id}`)).status).toBe(404);
    const startable = { id: workflow.id, name: 'expense', input_schema: input.schema.document };
    expect((await runner.client.get('/startable-workflows?granted=true')).body).toEqual([startable]);
    expect((await runner.client.get(`/startable-workflows/${workflow.id}`)).body).toEqual(startable);
    expect((await other.client.get('/startable-workflows')).body).toEqual([]);
    expect((await other.client.post(`/workflows/${workflow.id}/run`)).status).toBe(403);
    expect((await runner.client.post(`/workflows/${workflow.id}/run`)).status).toBe(422);
    const attach = (client: Client): Promise<Reply> =>
      client.post(`/files?workflow=${workflow.id}`, 'x', { headers: { 'content-type': 'text/plain' } });
    const { id: fileId } = created(await attach(runner.client));
    expect(await statuses([other, ...inOrder(team)], attach)).toEqual([404, 403, 403, 201, 201]);
    const receipt = { file_id: fileId };
    const run = created(
      await runner.client.post(`/workflows/${workflow.id}/run`, { input_params: { amount: 7, receipt } }),
    );
    // Whoever oversees the run reads the file; it stays that of the runner.
    const seen = (await team.builder.client.get(`/files/${fileId}/metadata`)).body;
    expect(seen).toMatchObject({ owner_id: runner.user.id, team_id: null, expires_at: null });
    expect((await team.builder.client.patch(`/files/${fileId}`, { name: 'ours' })).status).toBe(404);
    expect((await other.client.get(`/files/${fileId}`)).status).toBe(404);
    expect(run).toMatchObject({
      owner_id: runner.user.id,
      by_grant: true,
      input_params: { amount: 7, receipt },
      tasks: [],
      logs: [],
      can: ['cancel', 'run_again'],
    });
    for (const part of ['logs', 'tasks', 'diagram', 'events'])
      expect([part, (await runner.client.get(`/runs/${run.id}/${part}`)).status]).toEqual([part, 403]);
    expect((await team.builder.client.get(`/runs/${run.id}`)).body.logs).not.toEqual([]);
    const task = await insertTask(app.orm, run.id);
    expect((await runner.client.get(`/hitl/tasks/${task}`)).status).toBe(404);
    expect((await runner.client.post(`/runs/${run.id}/suspend`)).status).toBe(403);
    expect((await runner.client.post(`/runs/${run.id}/cancel`)).status).toBe(200);
    created(await team.builder.client.patch(`/workflows/${workflow.id}`, { runners: null }));
    expect((await runner.client.get(`/startable-workflows/${workflow.id}`)).status).toBe(404);
    expect((await attach(runner.client)).status).toBe(404);
  });

  test('may be everyone, or a user by name, who is kept as an id', async () => {
    const owner = await person(['builder']);
    const runner = await person();
    const made = created(
      await owner.client.post('/workflows', {
        name: 'open',
        definition,
        runners: { users: [runner.user.username] },
      }),
    );
    expect(made.runners).toEqual({ users: [runner.user.id], groups: [], everyone: false });
    const run = (client: Client): Promise<Reply> => client.post(`/workflows/${made.id}/run`);
    expect((await run(runner.client)).status).toBe(201);
    const other = await person();
    expect((await run(other.client)).status).toBe(403);
    created(await owner.client.patch(`/workflows/${made.id}`, { runners: { everyone: true } }));
    expect((await run(other.client)).status).toBe(201);
    const unknown = await owner.client.patch(`/workflows/${made.id}`, { runners: { users: ['nobody'] } });
    expect(unknown.body.errors).toMatchObject([{ pointer: '/runners/users/0', code: 'unknown_user' }]);
  });
});

describe('human tasks', () => {
  test('are decided by the approvers of a team that is a candidate', async () => {
    const team = await newTeam();
    const owner = await person(['builder']);
    const workflow = created(await owner.client.post('/workflows', { name: 'order', definition }));
    const run = created(await owner.client.post(`/workflows/${workflow.id}/run`));
    const candidates = { users: [], roles: [], groups: [], teams: [team.id] };
    const task = await insertTask(app.orm, run.id, { candidates });
    const decide = (client: Client): Promise<Reply> =>
      client.post(`/hitl/tasks/${task}/decision`, { decision: 'approve' });
    expect((await decide(team.viewer.client)).status).toBe(403);
    const listed = await team.approver.client.get('/hitl/tasks');
    expect(listed.body).toMatchObject([{ id: task, can: expect.arrayContaining(['decide']) }]);
    expect((await team.viewer.client.get('/hitl/tasks')).body).toEqual([]);
    expect((await decide(team.approver.client)).status).toBe(200);
  });
});

describe('a former member', () => {
  test('may cancel a run that they have started, not make it go on, nor see its human tasks', async () => {
    const team = await newTeam();
    const gone = await person(['builder']);
    const member = `/teams/${team.id}/members/${gone.user.id}`;
    created(await team.admin.client.put(member, { role: 'builder' }));
    const made = { name: 'expense', definition, team_id: team.id };
    const { id } = created(await gone.client.post('/workflows', made));
    const run = created(await gone.client.post(`/workflows/${id}/run`));
    const candidates = { users: [], roles: ['admin'], groups: [] };
    const task = await insertTask(app.orm, run.id, { candidates });
    expect((await gone.client.get(`/hitl/tasks/${task}`)).status).toBe(200);
    created(await team.admin.client.delete(member));
    expect((await gone.client.get(`/hitl/tasks/${task}`)).status).toBe(404);
    for (const action of ['retry', 'suspend', 'resume'])
      expect([action, (await gone.client.post(`/runs/${run.id}/${action}`)).status]).toEqual([action, 403]);
    expect((await gone.client.get(`/runs/${run.id}`)).body.can).toEqual(['cancel']);
    expect((await gone.client.post(`/runs/${run.id}/cancel`)).status).toBe(200);
  });

  test('who was an admin adds nobody, not even by a request that waited for the removal', async () => {
    const team = await newTeam();
    const second = await person();
    const member = `/teams/${team.id}/members/${second.user.id}`;
    created(await team.admin.client.put(member, { role: 'admin' }));
    const em = app.orm.em.fork();
    await em.begin();
    await em.execute('select from team where id = ? for update', [team.id]);
    const adding = second.client.put(`/teams/${team.id}/members/${team.viewer.user.id}`, { role: 'admin' });
    const waits = `select 1 from pg_stat_activity
                    where wait_event_type = 'Lock' and datname = current_database()`;
    await until(
      () => app.orm.em.fork().execute(waits),
      (rows) => rows.length > 0,
    );
    await em.execute('delete from team_member where user_id = ?', [second.user.id]);
    await em.commit();
    expect((await adding).status).toBe(404);
  });
});

describe('what is inside a run', () => {
  /** A run that its owner has started as a runner of the workflow, and the workflow's owner. */
  async function grantedRun(more: Record<string, unknown> = {}) {
    const owner = await person(['builder']);
    const runner = await person(['builder']);
    const body = { name: 'inner', definition, runners: { users: [runner.user.id] }, ...more };
    const workflow = created(await owner.client.post('/workflows', body));
    const run = created(
      await runner.client.post(`/workflows/${workflow.id}/run`, { input_params: { a: 1 } }),
    );
    return { owner, runner, workflow, run };
  }

  test('is its children: a runner sees neither what they are given nor what they give', async () => {
    const { runner, run } = await grantedRun();
    const { id } = created(
      await (
        await person(['builder'])
      ).client.post('/workflows', {
        name: 'open to all',
        definition,
        visibility: 'public',
      }),
    );
    const child = created(await runner.client.post(`/workflows/${id}/run`, { input_params: { inside: 1 } }));
    await app.orm.em
      .fork()
      .execute(`update run set parent_run_id = ?, by_grant = true, output = '{"inside": 2}' where id = ?`, [
        run.id,
        child.id,
      ]);
    const hidden = { input_params: null, output: null, logs: [], tasks: [] };
    expect((await runner.client.get(`/runs/${child.id}`)).body).toMatchObject(hidden);
    const listed = (await runner.client.get(`/runs?parent_run_id=${run.id}`)).body;
    expect(listed).toMatchObject([{ id: child.id, input_params: null, output: null }]);
    expect((await runner.client.get(`/runs/${child.id}/logs`)).status).toBe(403);
    expect((await runner.client.get(`/runs/${run.id}`)).body.input_params).toEqual({ a: 1 });
  });

  test('is closed to who has left the team, too: their files of it, and their personal data', async () => {
    const team = await newTeam();
    const { client, user } = team.builder;
    const made = { name: 'ours', definition, team_id: team.id };
    const workflow = created(await client.post('/workflows', made));
    const run = created(await client.post(`/workflows/${workflow.id}/run`));
    const headers = { 'content-type': 'text/plain' };
    const kept = created(await client.post(`/files?team_id=${team.id}`, 'x', { headers }));
    const em = app.orm.em.fork();
    await em.execute('update file set of_runs = true, team_id = null where id = ?', [kept.id]);
    await em.execute('insert into run_file (run_id, file_id) values (?, ?)', [run.id, kept.id]);
    const error = { type: 'runtime', status: 500, title: 'Fault', detail: 'hidden-detail' };
    await em.execute('update run set error = ?::json where id = ?', [JSON.stringify(error), run.id]);
    expect((await client.get(`/files/${kept.id}`)).status).toBe(200);
    await team.admin.client.delete(`/teams/${team.id}/members/${user.id}`);
    expect((await client.get(`/files/${kept.id}`)).status).toBe(404);
    expect((await client.get('/files')).body).toEqual([]);
    const text = String((await client.get('/users/me/personal-data')).body);
    expect(text).toContain(run.id);
    expect(text).not.toContain('hidden-detail');
  });

  test('is not in the personal data of the runner', async () => {
    const { runner, run } = await grantedRun();
    const em = app.orm.em.fork();
    const child = created(
      await runner.client.post(`/workflows/${run.workflow_id}/run`, { input_params: {} }),
    );
    await em.execute(
      `update run set parent_run_id = ?, input = '{"x": "hidden-input"}', output = '{"x": "hidden-output"}'
        where id = ?`,
      [run.id, child.id],
    );
    const error = {
      type: 'runtime',
      status: 500,
      title: 'Fault',
      detail: 'hidden-detail',
      instance: '/do/0/x',
    };
    await em.execute('update run set error = ?::json where id = ?', [JSON.stringify(error), run.id]);
    const kept = created(
      await runner.client.post('/files?name=hidden-file', 'x', { headers: { 'content-type': 'text/plain' } }),
    );
    await em.execute('update file set of_runs = true where id = ?', [kept.id]);
    await em.execute('insert into run_file (run_id, file_id) values (?, ?)', [run.id, kept.id]);
    const text = String((await runner.client.get('/users/me/personal-data')).body);
    expect(text).toContain(run.id);
    expect(text).toContain(child.id);
    expect(text).not.toMatch(/hidden-|\/do\/0\/x/);
    expect(text).not.toContain('"section":"files"');
  });

  test('is the files that it stores, but for those of its output', async () => {
    const { runner, run } = await grantedRun();
    const upload = async (): Promise<string> =>
      created(await runner.client.post('/files', 'x', { headers: { 'content-type': 'text/plain' } })).id;
    const [given, kept, own] = [await upload(), await upload(), await upload()];
    const em = app.orm.em.fork();
    for (const id of [given, kept]) {
      await em.execute('update file set of_runs = true where id = ?', [id]);
      await em.execute('insert into run_file (run_id, file_id) values (?, ?)', [run.id, id]);
    }
    await em.execute('update run set output = ?::json where id = ?', [
      JSON.stringify({ report: { file_id: given } }),
      run.id,
    ]);
    const idsOf = async (query: string): Promise<string[]> =>
      (await runner.client.get(`/files${query}`)).body.map(({ id }: { id: string }) => id);
    expect(await idsOf(`?run_id=${run.id}`)).toEqual([given]);
    expect(await idsOf('')).toEqual([own]);
    const statuses = async (id: string): Promise<number[]> => [
      (await runner.client.get(`/files/${id}`)).status,
      (await runner.client.get(`/files/${id}/metadata`)).status,
      (await runner.client.patch(`/files/${id}`, { name: 'mine' })).status,
    ];
    expect(await statuses(given)).toEqual([200, 200, 200]);
    expect(await statuses(kept)).toEqual([404, 404, 404]);
    expect((await runner.client.post(`/files/${kept}/link`)).status).toBe(404);
    expect((await runner.client.delete(`/files/${kept}`)).status).toBe(404);
    expect((await app.as('admin').then((client) => client.get(`/files/${kept}`))).status).toBe(200);

    // Nor by giving it to a run of their own, whose input they see.
    const { workflow_id: workflow } = run;
    const withKept = { input_params: { a: { file_id: kept } } };
    expect(await runner.client.post(`/workflows/${workflow}/run`, withKept)).toMatchObject({
      status: 422,
      body: { code: 'file_unavailable' },
    });
    expect(await statuses(kept)).toEqual([404, 404, 404]);
    created(
      await runner.client.post(`/workflows/${workflow}/run`, { input_params: { a: { file_id: given } } }),
    );
    expect(await statuses(given)).toEqual([200, 200, 200]);
    // What they have uploaded for a decision is theirs; and what a task of theirs asks about, they see.
    await em.execute('update file set attached = true where id = ?', [kept]);
    expect(await statuses(kept)).toEqual([200, 200, 200]);
    await em.execute('update file set attached = false where id = ?', [kept]);
    const task = await insertTask(app.orm, run.id);
    await em.execute(
      `update hitl_task set subject = ?::json, assignee_key = 'id:' || ?, assignee = ? where id = ?`,
      [JSON.stringify({ file_id: kept }), runner.user.id, runner.user.id, task],
    );
    expect((await runner.client.get(`/files/${kept}`)).status).toBe(200);
  });

  test('is what the workflow hands out: files that its definition names, not the input', async () => {
    const team = await newTeam();
    const { client: runner, user } = await person();
    const upload = async (): Promise<string> =>
      created(
        await team.builder.client.post(`/files?team_id=${team.id}`, 'x', {
          headers: { 'content-type': 'text/plain' },
        }),
      ).id;
    const [form, secret] = [await upload(), await upload()];
    const handsOut = { do: [{ first: { set: { form: { file_id: form }, given: '${ .id }' } } }] };
    const made = {
      name: 'forms',
      definition: handsOut,
      team_id: team.id,
      runners: { users: [user.username] },
    };
    const workflow = created(await team.builder.client.post('/workflows', made));
    const run = created(await runner.post(`/workflows/${workflow.id}/run`, { input_params: { id: secret } }));
    const em = app.orm.em.fork();
    const own = { id: run.id, owner_id: user.id };
    expect(await readableFiles(em, own, [form, secret])).toEqual([form]);
    await linkFiles(em, own, [form, secret]);
    const output = JSON.stringify({ form: { file_id: form }, given: { file_id: secret } });
    await em.execute('update run set output = ?::json where id = ?', [output, run.id]);
    const read = async (id: string): Promise<number> => (await runner.get(`/files/${id}`)).status;
    expect([await read(form), await read(secret)]).toEqual([200, 404]);
  });

  test('is its definition: one that cannot run tells a runner no problem of it', async () => {
    const { owner, runner, workflow } = await grantedRun();
    const broken = { do: [{ ask: { call: 'agent', with: { agent: 'secret-agent' } } }] };
    created(await owner.client.patch(`/workflows/${workflow.id}`, { definition: broken }));
    const refused = await runner.client.post(`/workflows/${workflow.id}/run`);
    expect([refused.status, refused.body.code]).toEqual([409, 'workflow_not_ready']);
    expect(JSON.stringify(refused.body)).not.toContain('secret-agent');
  });
});

test('a session that waits for a second factor starts nothing as a runner', async () => {
  const owner = await person(['builder']);
  const runner = await person();
  const { id } = created(
    await owner.client.post('/workflows', { name: 'open', definition, runners: { everyone: true } }),
  );
  expect((await runner.client.get(`/startable-workflows/${id}`)).status).toBe(200);
  await app.orm.em
    .fork()
    .execute('update auth_session set awaits_second_factor = true where user_id = ?', [runner.user.id]);
  expect((await runner.client.post(`/workflows/${id}/run`)).status).toBe(403);
});

test('children of a moved workflow go with it, out of the sight of its former team', async () => {
  const team = await newTeam();
  const owner = await person(['builder']);
  created(await team.admin.client.put(`/teams/${team.id}/members/${owner.user.id}`, { role: 'admin' }));
  const runOf = async (more: Record<string, unknown>): Promise<{ workflow_id: string; id: string }> => {
    const workflow = created(await owner.client.post('/workflows', { name: 'moved', definition, ...more }));
    return created(await owner.client.post(`/workflows/${workflow.id}/run`));
  };
  const parent = await runOf({ team_id: team.id });
  const child = await runOf({ visibility: 'public' });
  await app.orm.em
    .fork()
    .execute('update run set parent_run_id = ?, team_id = ? where id = ?', [parent.id, team.id, child.id]);
  const seen = (): Promise<number[]> =>
    Promise.all([parent, child].map(async ({ id }) => (await team.builder.client.get(`/runs/${id}`)).status));
  expect(await seen()).toEqual([200, 200]);
  created(await owner.client.patch(`/workflows/${parent.workflow_id}`, { team_id: null }));
  expect(await seen()).toEqual([404, 404]);
});

test('a workflow with many runs moves at once, and its older runs follow in batches', async () => {
  const team = await newTeam();
  const owner = await person(['builder']);
  created(await team.admin.client.put(`/teams/${team.id}/members/${owner.user.id}`, { role: 'admin' }));
  const workflow = created(
    await owner.client.post('/workflows', { name: 'busy', definition, team_id: team.id }),
  );
  const oldest = created(await owner.client.post(`/workflows/${workflow.id}/run`));
  const em = app.orm.em.fork();
  await em.execute(
    `insert into run select (jsonb_populate_record(r, jsonb_build_object('status', 'completed', 'id',
              overlay(gen_random_uuid()::text placing 'fff0' from 1 for 4)))).*
       from run r, generate_series(1, 5100) where r.id = ?`,
    [oldest.id],
  );
  const left = async (): Promise<number> => {
    const [row] = await em.execute<{ count: number }[]>(
      'select count(*)::int as count from run where workflow_id = ? and team_id is not null',
      [workflow.id],
    );
    return row?.count ?? -1;
  };
  const seen = async (): Promise<number> => (await team.builder.client.get(`/runs/${oldest.id}`)).status;
  expect([await left(), await seen()]).toEqual([5_101, 200]);
  created(await owner.client.patch(`/workflows/${workflow.id}`, { team_id: null }));
  expect([await left(), await seen()]).toEqual([101, 200]);
  await continueMoves(
    () => app.orm.em.fork(),
    () => true,
  );
  expect([await left(), await seen()]).toEqual([0, 404]);
  // Back again, before the first move would have come to its end.
  created(await owner.client.patch(`/workflows/${workflow.id}`, { team_id: team.id }));
  created(await owner.client.patch(`/workflows/${workflow.id}`, { team_id: null }));
  const moves = await Promise.all(
    [1, 2].map(() =>
      continueMoves(
        () => app.orm.em.fork(),
        () => true,
      ),
    ),
  );
  expect([await left(), moves.reduce((sum, one) => sum + one, 0)]).toEqual([0, 1]);
});

test('a deleted team is gone at once, and the runs that it had lose it in batches', async () => {
  const team = await newTeam();
  const { id } = created(
    await team.builder.client.post('/workflows', { name: 'over', definition, team_id: team.id }),
  );
  const oldest = created(await team.builder.client.post(`/workflows/${id}/run`));
  const em = app.orm.em.fork();
  await em.execute(
    `insert into run select (jsonb_populate_record(r, jsonb_build_object('status', 'completed', 'id',
              overlay(gen_random_uuid()::text placing 'fff0' from 1 for 4)))).*
       from run r, generate_series(1, 5100) where r.id = ?`,
    [oldest.id],
  );
  created(await team.builder.client.delete(`/workflows/${id}`));
  const left = async (): Promise<number> => {
    const [row] = await em.execute<{ count: number }[]>(
      'select count(*)::int as count from run where team_id = ?',
      [team.id],
    );
    return row?.count ?? -1;
  };
  const { name } = (await admin.get(`/teams/${team.id}`)).body;
  expect(await left()).toBe(5_101);
  expect((await team.admin.client.delete(`/teams/${team.id}`)).status).toBe(204);
  expect(await left()).toBe(101);
  // Gone for everybody: nobody is a member, nothing can be made for it, and its name is free.
  expect((await team.admin.client.get(`/runs?team_id=${team.id}`)).body).toEqual([]);
  for (const { client } of [team.admin, team.builder])
    expect((await client.get(`/teams/${team.id}`)).status).toBe(404);
  expect((await team.builder.client.get(`/runs/${oldest.id}`)).status).toBe(200);
  expect((await admin.get(`/teams/${team.id}`)).status).toBe(404);
  expect((await admin.delete(`/teams/${team.id}`)).status).toBe(404);
  expect((await admin.get('/teams?limit=200')).body.some((one: any) => one.id === team.id)).toBe(false);
  const forIt = { name: 'late', definition, team_id: team.id };
  expect((await admin.post('/workflows', forIt)).status).toBe(422);
  expect((await admin.post('/teams', { name })).status).toBe(201);
  const fork = (): any => app.orm.em.fork();
  await Promise.all([1, 2].map(() => continueTeamEnds(fork, 60_000)));
  while (await continueTeamEnds(fork, 60_000));
  expect(await left()).toBe(0);
  expect(await em.execute('select from team where id = ?', [team.id])).toEqual([]);
});

test('a run that is started while its workflow moves belongs to the new team', async () => {
  const team = await newTeam();
  const owner = await person(['builder']);
  created(await team.admin.client.put(`/teams/${team.id}/members/${owner.user.id}`, { role: 'admin' }));
  const workflow = created(
    await owner.client.post('/workflows', { name: 'moving', definition, team_id: team.id }),
  );
  const em = app.orm.em.fork();
  await em.begin();
  await em.execute('select from workflow where id = ? for update', [workflow.id]);
  await em.execute('update workflow set team_id = null where id = ?', [workflow.id]);
  const starting = owner.client.post(`/workflows/${workflow.id}/run`);
  const waits = `select 1 from pg_stat_activity
                  where wait_event_type = 'Lock' and datname = current_database()`;
  await until(
    () => app.orm.em.fork().execute(waits),
    (rows) => rows.length > 0,
  );
  await em.commit();
  const { id } = created(await starting);
  const [run] = await app.orm.em.fork().execute('select team_id from run where id = ?', [id]);
  expect(run).toEqual({ team_id: null });
});

test('approvers of a team are told of the tasks that name it, and its drafts may be tried', async () => {
  const team = await newTeam();
  const em = app.orm.em.fork();
  const found = await findRecipients(em, [`team:${team.id}`, 'team:unknown'], { after: null, limit: 10 });
  expect(found.map(({ id }) => id).toSorted()).toEqual(
    [team.approver, team.builder, team.admin].map(({ user }) => user.id).toSorted(),
  );
  const agent = created(await team.builder.client.post('/agents', agentBody({ team_id: team.id })));
  const draft = { agent: agent.id, version: 'draft' };
  created(await team.builder.client.post(`/agents/${agent.id}/versions`, { version: '1.1.0' }));
  expect(await pinAgent(em, team.builder.user.id, draft)).toMatchObject({ found: true });
  expect(await pinAgent(em, team.viewer.user.id, draft)).toMatchObject({ found: false });
});

test('a token may be limited to a workflow of a team', async () => {
  const team = await newTeam();
  const made = { name: 'expense', definition, team_id: team.id };
  const { id } = created(await team.builder.client.post('/workflows', made));
  const scopes = [`workflow:${id}`];
  const actor = { id: team.viewer.user.id, username: '', roles: ['viewer' as const], groups: [] };
  const em = app.orm.em.fork();
  await expect(checkScopes(em, actor, scopes)).rejects.toThrow();
  await checkScopes(em, { ...actor, teams: [{ id: team.id, role: 'viewer' }] }, scopes);
});

test('a chat of a workflow is told nothing once its owner has left the team', async () => {
  const team = await newTeam();
  const gone = await person(['builder']);
  const member = `/teams/${team.id}/members/${gone.user.id}`;
  created(await team.admin.client.put(member, { role: 'builder' }));
  const made = { name: 'expense', definition, team_id: team.id };
  const { id } = created(await gone.client.post('/workflows', made));
  const em = app.orm.em.fork();
  const { encryption } = app.app.deps;
  const actor = { id: gone.user.id, username: '', roles: ['builder' as const], groups: [] };
  const chat = {
    name: 'chat',
    format: 'slack' as const,
    group_name: null,
    workflow_id: id,
    team_id: null,
    kinds: [],
  };
  const url = 'https://a.example.com';
  const channel = await createChannel(em, encryption, actor, { ...chat, url }, app.env);
  const open = () => openChannelUrl(app.orm.em.fork(), encryption, channel.id);
  expect(await open()).not.toBeNull();
  created(await team.admin.client.delete(member));
  expect(await open()).toBeNull();
});
