/** Teams over HTTP: who belongs to them, what they hold, and who may start workflows (docs/teams.md). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import type { Role } from '../../../contracts/roles.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { createJob } from '../../../domain/jobs/job.ts';
import { requireMembership } from '../../../domain/teams/holding.ts';
import { allowedMs } from '../../support/machine.ts';
import { openStream } from '../../support/sse-client.ts';
import { until } from '../../support/platform.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

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
    const run = created(
      await runner.client.post(`/workflows/${workflow.id}/run`, { input_params: { amount: 7 } }),
    );
    expect(run).toMatchObject({
      owner_id: runner.user.id,
      by_grant: true,
      input_params: { amount: 7 },
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
