/** People, tokens, the agent, the workflows and the webhook of the load, before anything fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SCOPES } from '../../../contracts/scopes.ts';
import { createClient, type Client } from '../../support/app.ts';
import { DECIDER, definitions } from './definitions.ts';

export interface Scene {
  /** Access tokens that live for days. */
  tokens: { owner: string; decider: string; admin: string };
  ownerId: string;
  agentId: string;
  /** Ids by name. */
  workflows: Readonly<Record<string, string>>;
  turnsSeconds: number;
}

const PASSWORD = 'a password of the load';
export const WEBHOOK_TYPES = ['io.serverlessworkflow.workflow', 'io.cadenza.hitl'];
const READY_MS = 180_000;

/** Of a schedule, the last 100 times are kept. */
const MOST_TIMES = 80;

export async function setUp(options: {
  urls: readonly string[];
  adminPassword: string;
  counterpartUrl: string;
  minutes: number;
}): Promise<Scene> {
  const { urls, counterpartUrl } = options;
  await Promise.all(urls.map(answers));
  const url = urls[0]!;
  const admin = createClient(url, await logIn(url, 'admin', options.adminPassword));
  const owner = await newPerson(url, admin, 'owner', 'builder');
  const decider = await newPerson(url, admin, DECIDER, 'approver');
  const turnsSeconds = Math.max(10, Math.ceil((options.minutes * 60) / MOST_TIMES));
  const agent = await created(owner.client, '/agents', {
    name: 'counted',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: `${counterpartUrl}/call`, price: { per_invocation_usd: 0.001 } },
    budget: { max_invocations: 10_000_000, max_cost_usd: 100_000 },
  });
  const workflows: Record<string, string> = {};
  const all = definitions({ url: counterpartUrl, agentId: agent.id }, turnsSeconds);
  await created(owner.client, '/webhooks', { url: `${counterpartUrl}/hook`, types: WEBHOOK_TYPES });
  for (const [name, definition] of Object.entries(all)) {
    const workflow = await created(owner.client, '/workflows', { name, definition });
    if (!workflow.runnable) throw new Error(`${name}: ${JSON.stringify(workflow.problems)}`);
    workflows[name] = workflow.id;
  }
  const overlap = await owner.client.patch(`/workflows/${workflows['clock']}/schedule`, { overlap: 'allow' });
  if (overlap.status !== 200) throw new Error(JSON.stringify(overlap.body));
  return {
    tokens: {
      owner: await tokenOf(owner.client, 'builder'),
      decider: await tokenOf(decider.client, 'approver'),
      admin: await tokenOf(admin, 'admin'),
    },
    ownerId: owner.id,
    agentId: agent.id,
    workflows,
    turnsSeconds,
  };
}

async function answers(url: string): Promise<void> {
  for (const deadline = Date.now() + READY_MS; ; await sleep(100)) {
    const status = await fetch(`${url}/readyz`).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    if (Date.now() > deadline) throw new Error(`${url} does not answer (${status})`);
  }
}

async function logIn(url: string, username: string, password: string): Promise<string> {
  return (await created(createClient(url), '/auth/token', { username, password }, 200)).access_token;
}

async function newPerson(url: string, admin: Client, username: string, role: string) {
  const { id } = await created(admin, '/users', {
    username,
    email: `${username}@example.com`,
    password: PASSWORD,
    roles: [role],
  });
  return { id: id as string, client: createClient(url, await logIn(url, username, PASSWORD)) };
}

async function tokenOf(client: Client, role: string): Promise<string> {
  const scopes = SCOPES.filter((scope) => role === 'admin' || scope !== 'admin');
  const expiresAt = new Date(Date.now() + 7 * 24 * 3_600_000).toISOString();
  return (await created(client, '/users/me/tokens', { name: 'faults', scopes, expires_at: expiresAt })).token;
}

async function created(client: Client, path: string, body: unknown, expected = 201): Promise<any> {
  const reply = await client.post(path, body);
  if (reply.status !== expected) throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}
