/**
 * The people and objects of the access matrix: one object of each kind, private and public, all of one owner.
 */
import { insertRun, insertTask } from '../support/human-tasks.ts';
import { agentBody } from '../support/agent-body.ts';
import { startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';
import { approvedItem, createdWorkflow, publishedAgent, submitted } from '../support/marketplace.ts';
import type { ObjectName, Person } from './access-rules.ts';

export interface AccessWorld {
  app: TestApp;
  clients: Record<Person, Client>;
  /** The value of `{id}` (or `{name}`) in a path. */
  ids: Record<ObjectName, string>;
  /** Other parameters of a path that belong to that object, such as `{skill_id}`. */
  parameters(object: ObjectName | 'none'): Record<string, string>;
  close(): Promise<void>;
}

const definition = { schedule: { after: 'PT1H' }, do: [{ first: { set: { a: 1 } } }] };

export async function createAccessWorld(options: { databaseUrl?: string } = {}): Promise<AccessWorld> {
  const app = await startTestApp(options);
  const owner = await app.createUser({ username: 'the-owner', roles: ['builder'] });
  const candidate = await app.createUser({
    username: 'the-candidate',
    roles: ['approver'],
    groups: ['finance'],
  });
  const clients: Record<Person, Client> = {
    viewer: await app.as('viewer'),
    approver: await app.as('approver'),
    builder: await app.as('builder'),
    candidate: await app.as(candidate),
    owner: await app.as(owner),
    admin: await app.as('admin'),
  };
  const agents = await createAgents(clients.owner);
  const workflows = {
    privateWorkflow: (await createdWorkflow(clients.owner, definition, { visibility: 'private' })).id,
    publicWorkflow: (await createdWorkflow(clients.owner, definition, { visibility: 'public' })).id,
  };
  const run = await insertRun(app.orm, { owner: owner.id });
  const team = created(await clients.admin.post('/teams', { name: 'payments', admin: owner.id }));
  created(await clients.admin.put(`/teams/${team.id}/groups/accounting`, { role: 'viewer' }));
  const webhook = created(await clients.owner.post('/webhooks', { url: 'https://hooks.example.com/in' }));
  const delivery = created(await clients.owner.post(`/webhooks/${webhook.id}/test`));
  const chat = created(
    await clients.owner.post('/notifications/channels', {
      name: 'Team',
      format: 'slack',
      url: 'https://hooks.example.com/chat',
    }),
  );
  const deputy = await app.createUser({ username: 'the-deputy', roles: ['approver'] });
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const absence = created(await clients.owner.post('/absences', { deputy: deputy.id, until }));
  await clients.owner.put('/secrets/OWNER_KEY', { value: 'only the owner knows' });
  await clients.owner.put('/secrets/HOOK_KEY', { value: 'a key of at least sixteen bytes' });
  const hook = { name: 'Pushes', scheme: 'github', secret: 'HOOK_KEY' };
  const event = { specversion: '1.0', id: '1', source: '/shop', type: 'order' };
  const accessToken = await insertToken(app, owner.id);
  const identity = await insertIdentity(app, clients.admin, owner.id);
  const ids: AccessWorld['ids'] = {
    ...agents.ids,
    ...workflows,
    run,
    task: await insertTask(app.orm, run, { candidates: { users: [], roles: [], groups: ['finance'] } }),
    privateFile: await upload(clients.owner, 'private'),
    publicFile: await upload(clients.owner, 'public'),
    submittedItem: (await submitted(clients.owner, await publishedAgent(clients.owner))).id,
    approvedItem: (await approvedItem(clients.owner, clients.admin)).id,
    budget: await budgetOf(clients.owner),
    price: created(
      await clients.admin.post('/prices', {
        model: 'small',
        input_per_million_usd: 1,
        output_per_million_usd: 2,
      }),
    ).id,
    webhook: webhook.id,
    chat: chat.id,
    absence: absence.id,
    hook: created(await clients.owner.post('/hooks', hook)).id,
    eventSource: created(await clients.owner.post('/event-sources', { source: '/shop' })).id,
    event: created(
      await clients.owner.post('/events', event, {
        headers: { 'content-type': 'application/cloudevents+json' },
      }),
    ).id,
    secret: 'OWNER_KEY',
    client: await insertClient(app, owner.id),
    token: accessToken,
    passkey: await insertPasskey(app, owner.id),
    evaluation: await insertEvaluation(app, agents.ids.publicAgent, owner.id),
    job: await insertJob(app, run, agents.ids.privateAgent, owner.id),
    session: await insertSession(app, owner.id),
    agentWithSession: await insertChat(app, owner.id, agents.ids.publicAgent),
    oauthClient: await registerClient(app),
    issuer: identity.issuer,
    identity: identity.identity,
    user: owner.id,
    team: team.id,
  };
  const { machine, scimToken } = identity;
  const workerToken = await insertWorkerToken(app, owner.id, Object.values(agents.ids));
  return {
    app,
    clients,
    ids,
    parameters: (object) => ({
      version: '1.0.0',
      revision: '1',
      reference: '/do/0/first',
      delivery_id: delivery.id,
      client_id: ids.client,
      identity_id: ids.identity,
      session_id: ids.session,
      user_id: owner.id,
      group: 'accounting',
      machine_id: machine,
      session: 'trip',
      token_id: object === 'user' ? accessToken : object === 'issuer' ? scimToken : workerToken,
      file_id: ids.privateFile,
      ...(object === 'privateAgent' || object === 'publicAgent' ? { skill_id: agents.skills[object] } : {}),
      ...(object === 'none' ? { name: 'SOME_NAME' } : { name: ids[object] }),
    }),
    close: () => app.close(),
  };
}

async function insertIdentity(app: TestApp, admin: Client, userId: string) {
  const issuer = created(
    await admin.post('/identity-issuers', {
      name: 'corp',
      title: 'Corp',
      issuer: 'https://id.example.com',
      client_id: 'cadenza',
      audiences: ['https://cadenza.example.com'],
    }),
  ).id as string;
  const identity = created(
    await admin.post(`/users/${userId}/identities`, { issuer_id: issuer, subject: 'the owner' }),
  ).id as string;
  const program = { name: 'robot', user_id: userId, claims: { azp: 'robot' } };
  const machine = created(await admin.post(`/identity-issuers/${issuer}/machines`, program)).id as string;
  const sync = await admin.post(`/identity-issuers/${issuer}/scim-tokens`, { name: 'sync' });
  return { issuer, identity, machine, scimToken: created(sync).id as string };
}

async function createAgents(owner: Client) {
  const make = async (visibility: string) => {
    const skills = [{ name: 'summarise' }];
    const agent = created(
      await owner.post('/agents', agentBody({ visibility, skills, documentation: 'How to use it' })),
    );
    return { id: agent.id as string, skill: agent.skills[0].id as string };
  };
  const [hidden, open] = [await make('private'), await make('public')];
  return {
    ids: { privateAgent: hidden.id, publicAgent: open.id },
    skills: { privateAgent: hidden.skill, publicAgent: open.skill },
  };
}

async function budgetOf(owner: Client): Promise<string> {
  const budget = { max_invocations: 1 };
  return created(await owner.post('/agents', agentBody({ name: 'limited', budget }))).id;
}

async function upload(owner: Client, visibility: string): Promise<string> {
  const headers = { 'content-type': 'text/plain' };
  return created(
    await owner.post(`/files?name=notes.txt&visibility=${visibility}`, 'some notes', { headers }),
  ).id;
}

async function insertPasskey(app: TestApp, ownerId: string): Promise<string> {
  const id = crypto.randomUUID();
  await app.orm.em.fork().execute(
    `insert into passkey (id, user_id, credential_id, public_key, counter, transports, name)
     values (?, ?, ?, sha256('none'), 0, '{}', 'phone')`,
    [id, ownerId, id],
  );
  return id;
}

/** The other tests' person of this token never shows it. */
async function insertToken(app: TestApp, ownerId: string): Promise<string> {
  const id = crypto.randomUUID();
  await app.orm.em.fork().execute(
    `insert into access_token (id, user_id, name, token_hash, hint, scopes, expires_at)
     values (?, ?, 'script', sha256('none'), 'none', '{runs:read}', now() + interval '1 day')`,
    [id, ownerId],
  );
  return id;
}

/** Inserts a row, because creating a client over HTTP needs a recent log-in with a password. */
async function insertClient(app: TestApp, ownerId: string): Promise<string> {
  const id = crypto.randomUUID();
  await app.orm.em
    .fork()
    .execute(`insert into auth_client (id, user_id, name, secret_hash) values (?, ?, 'machine', 'none')`, [
      id,
      ownerId,
    ]);
  return id;
}

/** A job that waits for a worker of the agent. */
async function insertJob(app: TestApp, runId: string, agentId: string, ownerId: string): Promise<string> {
  const id = crypto.randomUUID();
  await app.orm.em.fork().execute(
    `insert into job (id, run_id, key, kind, task, visit, task_attempt, agent_id, agent_version, secrets_of,
                      queue, input, configuration, output_schema, repeatable, max_attempts, lease_ms,
                      expires_at)
     values (?, ?, 'key', 'worker', '/do/0/first', 1, 1, ?, '1.0.0', ?, 'default', '{}', '{}', '{}', true, 5,
             60000, now() + interval '1 hour')`,
    [id, runId, agentId, ownerId],
  );
  return id;
}

/** Of a public agent: those who see the agent do not see its evaluations. */
async function insertEvaluation(app: TestApp, agentId: string, ownerId: string): Promise<string> {
  const id = crypto.randomUUID();
  await app.orm.em.fork().execute(
    `insert into evaluation (id, agent_id, started_by, versions, checks, cases, status)
     values (?, ?, ?, '{1.0.0}', '[]', 0, 'completed')`,
    [id, agentId, ownerId],
  );
  return id;
}

async function insertWorkerToken(app: TestApp, ownerId: string, agentIds: string[]): Promise<string> {
  const id = crypto.randomUUID();
  const em = app.orm.em.fork();
  await em.execute(
    `insert into worker_token (id, owner_id, name, secret_hash, expires_at)
     values (?, ?, 'plant', 'none', now() + interval '1 day')`,
    [id, ownerId],
  );
  for (const agentId of agentIds)
    await em.execute('insert into worker_token_agent (token_id, agent_id) values (?, ?)', [id, agentId]);
  return id;
}

async function registerClient(app: TestApp): Promise<string> {
  const redirect_uris = ['https://client.example.com/callback'];
  return created(await app.anonymous.post('/auth/register', { redirect_uris })).client_id;
}

async function insertSession(app: TestApp, ownerId: string): Promise<string> {
  const id = crypto.randomUUID();
  await app.orm.em
    .fork()
    .execute(`insert into auth_session (id, user_id, expires_at) values (?, ?, now() + interval '1 day')`, [
      id,
      ownerId,
    ]);
  return id;
}

/** @returns the agent that remembers the session */
async function insertChat(app: TestApp, ownerId: string, agentId: string): Promise<string> {
  await app.orm.em
    .fork()
    .execute(`insert into chat_session (id, agent_id, owner_id, name) values (?, ?, ?, 'trip')`, [
      crypto.randomUUID(),
      agentId,
      ownerId,
    ]);
  return agentId;
}

function created(reply: Reply): Reply['body'] {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}
