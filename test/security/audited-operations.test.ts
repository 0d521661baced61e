/**
 * Every operation that changes something is tried once, by an API that may not change the audit log, and has
 * to be in it.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Endpoint } from '../../api/endpoint.ts';
import { agentBody } from '../support/agent-body.ts';
import { createClient, type Client } from '../support/app.ts';
import { createApplicationRole, type ApplicationRole } from '../support/application-role.ts';
import { insertTask } from '../support/human-tasks.ts';
import type { ObjectName, Person } from './access-rules.ts';
import { createAccessWorld, type AccessWorld } from './access-world.ts';

const PASSWORD = 'correct horse battery';
const SOON = new Date(Date.now() + 3_600_000).toISOString();

/** Changes nothing, or has an entry under another name; each with the reason in its declaration. */
const UNRECORDED = [
  'beginMyVerification',
  'beginPasskeyLogIn',
  'checkIssuer',
  'createDeviceCode',
  'createSession',
  'createToken',
  'decideAuthorization',
  'decodePayloads',
  'decodeTemporalPayloads',
  'heartbeatJob',
  'linkMyIdentity',
  'markNotificationsRead',
  'pollJobs',
  'postUserInfo',
  'readPasswordLink',
  'receiveCallback',
  'validateWorkflow',
];

/** Need a counterpart, Temporal, a second program or a state that other tests make. */
const ELSEWHERE = [
  'backfillSchedule',
  'beginMyPasskey',
  'checkAgent',
  'choosePassword',
  'completeJob',
  'confirmMyTotp',
  'createMyPasskey',
  'decideByLink',
  'decideDeviceRequest',
  'deleteMyPassword',
  'deleteMyTotp',
  'deleteSession',
  'endSessionsByIssuer',
  'failJob',
  'importAgents',
  'receiveHook',
  'refreshAgent',
  'renewMyRecoveryCodes',
  'requestPasswordLink',
  'retryEvaluation',
  'retryRun',
  'sendInvitation',
  'sendTestMail',
  'setAgentCanary',
  'unlinkMyIdentity',
  'withdrawInvitation',
  'unsubscribe',
  'uploadJobFile',
];

interface Try {
  /** Default: the owner. `fresh` has just logged in by password, as an admin. */
  by?: Person | 'fresh' | 'nobody';
  on?: ObjectName;
  body?: unknown;
  headers?: Record<string, string>;
  query?: string;
  /** Makes the state that the operation needs. */
  first?: readonly [sql: string, values: readonly unknown[]];
}

let role: ApplicationRole;
let world: AccessWorld;
let endpoints: Endpoint[];
let fresh: Client;
let all: Record<string, Try>;

beforeAll(async () => {
  role = await createApplicationRole();
  world = await createAccessWorld({ databaseUrl: role.url });
  endpoints = world.app.app.endpoints.filter(({ method }) => method !== 'GET');
  const root = { username: 'root', email: 'root@example.com', password: PASSWORD, roles: ['admin'] };
  await world.clients.admin.post('/users', root);
  const log = await world.app.anonymous.post('/auth/token', { username: 'root', password: PASSWORD });
  fresh = createClient(world.app.url, log.body.access_token);
  all = await tries();
});
afterAll(async () => {
  await world.close();
  await role.drop();
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const definition = { schedule: { every: 'PT1H' }, do: [{ first: { set: { a: 1 } } }] };

/** In this order: what removes an object comes last. */
async function tries(): Promise<Record<string, Try>> {
  const { ids, clients, app } = world;
  const other = await app.createUser({ username: 'somebody', roles: ['builder'] });
  const approver = await app.user('approver');
  const candidates = { users: [approver.username], roles: [], groups: ['finance'] };
  ids.task = await insertTask(app.orm, ids.run, { candidates });
  const second = await insertTask(app.orm, ids.run, { candidates });
  const scheduled = await clients.owner.post('/workflows', { name: 'hourly', definition });
  const secondItem = await clients.owner.post('/agents', agentBody({ name: 'second' }));
  await clients.owner.post(`/agents/${secondItem.body.id}/versions/1.0.0/publish`);
  ids.privateWorkflow = scheduled.body.id;
  const submittedItem = await clients.admin.get(`/marketplace/items/${ids.submittedItem}`);
  return {
    createAbsence: { by: 'builder', body: { deputy: other.id, until: SOON } },
    endAbsence: { on: 'absence' },
    createAgent: { body: agentBody({ name: 'new' }) },
    updateAgent: { on: 'privateAgent', body: { description: 'changed' } },
    createAgentSkill: { on: 'privateAgent', body: { name: 'translate' } },
    updateAgentSkill: { on: 'privateAgent', body: { name: 'translate well' } },
    createAgentVersion: { on: 'privateAgent', body: { version: '2.0.0' } },
    updateAgentVersion: { on: 'privateAgent', body: { changelog: 'x' } },
    publishAgentVersion: { on: 'privateAgent' },
    evaluateAgent: { on: 'privateAgent', body: { versions: ['1.0.0'], cases: [{ input: 1 }] } },
    invokeAgent: { on: 'privateAgent', body: { input: {} } },
    closeAgentCircuit: { on: 'privateAgent' },
    deleteAgentCanary: { on: 'privateAgent' },
    deprecateAgentVersion: { on: 'privateAgent' },
    createWorkerToken: { by: 'fresh', on: 'privateAgent', body: { name: 'plant', expires_at: SOON } },
    deleteWorkerToken: { by: 'fresh', on: 'privateAgent' },
    deleteAgentSkill: { on: 'privateAgent' },
    deleteAgentSession: { on: 'agentWithSession' },
    applySet: { body: { set: 'audited', resources: [] } },
    registerClient: { by: 'nobody', body: { redirect_uris: ['https://client.example.com/other'] } },
    deleteRegisteredClient: { by: 'admin', on: 'oauthClient' },
    revokeToken: { body: 'token=unknown', headers: form },
    raiseBudget: { on: 'budget', body: { invocations: 5 } },
    deleteEvaluation: { on: 'evaluation' },
    createEventSource: { by: 'fresh', body: { source: '/other' } },
    updateEventSource: { by: 'fresh', on: 'eventSource', body: { description: 'x' } },
    deleteEventSource: { by: 'fresh', on: 'eventSource' },
    publishEvent: {
      body: { specversion: '1.0', id: '9', source: '/shop', type: 'order' },
      headers: { 'content-type': 'application/cloudevents+json' },
    },
    uploadFile: { body: 'text', headers: { 'content-type': 'text/plain' }, query: '?name=a.txt' },
    updateFile: { on: 'privateFile', body: { name: 'b.txt' } },
    createFileLink: { on: 'privateFile', body: {} },
    deleteFile: { on: 'privateFile' },
    claimHumanTask: { by: 'candidate', on: 'task' },
    commentHumanTask: { by: 'candidate', on: 'task', body: { comment: 'hm' } },
    releaseHumanTask: { by: 'candidate', on: 'task' },
    delegateHumanTask: { by: 'candidate', on: 'task', body: { to: approver.username } },
    decideHumanTask: { by: 'approver', on: 'task', body: { decision: 'approve' } },
    decideHumanTasks: { by: 'candidate', body: { decisions: [{ task_id: second, decision: 'approve' }] } },
    createHook: { body: { name: 'More', scheme: 'github', secret: 'HOOK_KEY' } },
    updateHook: { on: 'hook', body: { name: 'Pulls' } },
    deleteHook: { on: 'hook' },
    createIssuer: {
      by: 'fresh',
      body: { name: 'two', title: 'Two', issuer: 'https://two.example.com', client_id: 'c' },
    },
    updateIssuer: { by: 'fresh', on: 'issuer', body: { title: 'Corporation' } },
    createMachine: {
      by: 'fresh',
      on: 'issuer',
      body: { name: 'other', user_id: ids.user, claims: { azp: 'other' } },
    },
    deleteMachine: { by: 'fresh', on: 'issuer' },
    createScimToken: { by: 'fresh', on: 'issuer', body: { name: 'more' } },
    deleteScimToken: { by: 'fresh', on: 'issuer' },
    unlinkUserIdentity: { by: 'fresh', on: 'user' },
    linkUserIdentity: { by: 'fresh', on: 'user', body: { issuer_id: ids.issuer, subject: 'another' } },
    deleteIssuer: { by: 'fresh', on: 'issuer' },
    submitMarketplaceItem: {
      body: { kind: 'agent', ref_id: secondItem.body.id, version: '1.0.0' },
    },
    approveMarketplaceItem: { by: 'admin', on: 'submittedItem', body: { digest: submittedItem.body.digest } },
    installMarketplaceItem: { by: 'builder', on: 'approvedItem', body: {} },
    reviewMarketplaceItem: { by: 'builder', on: 'approvedItem', body: { rating: 5 } },
    rejectMarketplaceItem: { by: 'admin', on: 'approvedItem', body: { reason: 'no' } },
    withdrawMarketplaceItem: { on: 'approvedItem' },
    createNotificationChannel: {
      body: { name: 'Two', format: 'slack', url: 'https://hooks.example.com/2' },
    },
    updateNotificationChannel: { on: 'chat', body: { name: 'Three' } },
    testNotificationChannel: { on: 'chat' },
    deleteNotificationChannel: { on: 'chat' },
    putNotificationSettings: { body: {} },
    createPrice: {
      by: 'admin',
      body: { model: 'large', input_per_million_usd: 1, output_per_million_usd: 2 },
    },
    replacePrice: {
      by: 'admin',
      on: 'price',
      body: { model: 'small', input_per_million_usd: 2, output_per_million_usd: 2 },
    },
    deletePrice: { by: 'admin', on: 'price' },
    suspendRun: { on: 'run' },
    resumeRun: { on: 'run' },
    actOnRuns: { body: { action: 'suspend', ids: [ids.run] } },
    cancelRun: { on: 'run' },
    terminateRun: { by: 'admin', on: 'run', body: {} },
    putSecret: { body: { value: 'x' } },
    deleteSecret: { on: 'secret' },
    createTeam: { by: 'admin', body: { name: 'others', admin: ids.user } },
    updateTeam: { on: 'team', body: { description: 'x' } },
    putTeamMember: { by: 'admin', on: 'team', body: { role: 'admin' } },
    removeTeamMember: { by: 'admin', on: 'team' },
    putTeamGroup: { by: 'admin', on: 'team', body: { role: 'viewer' } },
    removeTeamGroup: { by: 'admin', on: 'team' },
    deleteTeam: { by: 'admin', on: 'team' },
    createUser: {
      by: 'fresh',
      body: { username: 'n', email: 'n@example.com', password: PASSWORD, roles: ['viewer'] },
    },
    updateUser: { by: 'fresh', on: 'user', body: { display_name: 'The owner' } },
    createMyClient: { by: 'fresh', body: { name: 'robot' } },
    deleteMyClient: { on: 'client' },
    putMyPreferences: { body: {} },
    createMyToken: { by: 'fresh', body: { name: 't', scopes: ['runs:read'], expires_at: SOON } },
    deleteMyToken: { on: 'token' },
    deleteMyPasskey: { by: 'owner', on: 'passkey' },
    beginMyTotp: { by: 'fresh' },
    verifyMe: { by: 'fresh', body: { password: PASSWORD } },
    deleteMySession: { on: 'session' },
    deleteMyOtherSessions: { by: 'fresh' },
    resetUserSecondFactor: { by: 'fresh', on: 'user' },
    deleteUserClient: {
      by: 'fresh',
      on: 'user',
      first: [
        `insert into auth_client (id, user_id, name, secret_hash) values (?, ?, 'again', 'none')`,
        [ids.client, ids.user],
      ],
    },
    deleteUserSession: {
      by: 'fresh',
      on: 'user',
      first: ['update auth_session set revoked_at = null where id = ?', [ids.session]],
    },
    deleteUserToken: {
      by: 'fresh',
      on: 'user',
      first: [
        `insert into access_token (id, user_id, name, token_hash, hint, scopes, expires_at)
         values (?, ?, 'again', sha256('again'), 'none', '{runs:read}', now() + interval '1 day')`,
        [ids.token, ids.user],
      ],
    },
    createWebhook: { body: { url: 'https://hooks.example.com/more' } },
    updateWebhook: { on: 'webhook', body: { active: true } },
    rotateWebhookSecret: { on: 'webhook', body: {} },
    testWebhook: { on: 'webhook' },
    redeliverWebhookDelivery: {
      on: 'webhook',
      first: ["update delivery set status = 'failed' where target_id = ?", [ids.webhook]],
    },
    redeliverFailedWebhookDeliveries: { on: 'webhook', body: {} },
    deleteWebhook: { on: 'webhook' },
    createWorkflow: { body: { name: 'w', definition } },
    updateWorkflow: { on: 'privateWorkflow', body: { name: 'renamed' } },
    setEventSenders: { on: 'privateWorkflow', body: { users: [] } },
    executeWorkflow: { on: 'privateWorkflow', body: {} },
    runWorkflow: { on: 'privateWorkflow', body: {} },
    updateSchedule: { on: 'privateWorkflow', body: { paused: true } },
    triggerSchedule: { on: 'privateWorkflow' },
    deleteWorkflow: { on: 'privateWorkflow' },
    deleteAgent: { on: 'budget' },
    transferUser: { by: 'fresh', on: 'user', body: { to: other.id } },
    eraseUser: { by: 'fresh', on: 'user', body: { dry_run: true } },
    retryErasure: {
      by: 'fresh',
      on: 'user',
      first: [
        `with e as (
           insert into erasure (user_id, runs, finished_at) values (?, 'keep', now()) returning user_id)
         insert into erasure_history (run_id, user_id, next_at)
         select gen_random_uuid(), user_id, 'infinity' from e`,
        [ids.user],
      ],
    },
    // The owner does nothing after it.
    deleteUserSessions: { by: 'fresh', on: 'user' },
    changeMyPassword: {
      by: 'fresh',
      body: { current_password: PASSWORD, new_password: `${PASSWORD} staple` },
    },
  };
}

function addressOf({ path }: Endpoint, { on, query = '' }: Try): string {
  let first = true;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = first && on !== undefined ? world.ids[on] : world.parameters(on ?? 'none')[name];
    first = false;
    return encodeURIComponent(value ?? '');
  });
  return `${filled}${query}`;
}

async function entriesOf(requestId: string | null): Promise<string[]> {
  const rows = await world.app.orm.em
    .fork()
    .execute<{ action: string }[]>(
      `select action from audit_entry where request_id = ? and outcome = 'done'`,
      [requestId],
    );
  return rows.map(({ action }) => action);
}

test('each operation that changes something is tried here, or has its reason', () => {
  const changing = endpoints.map(({ operationId }) => operationId);
  expect(Object.keys(all).concat(ELSEWHERE, UNRECORDED).toSorted()).toEqual(changing.toSorted());
  const unrecorded = endpoints.filter(({ audit }) => audit === false);
  expect(unrecorded.map(({ operationId }) => operationId).toSorted()).toEqual(UNRECORDED);
});

test('what an operation changes is in the audit log', async () => {
  const clientOf = (by: NonNullable<Try['by']>): Client =>
    by === 'fresh' ? fresh : by === 'nobody' ? world.app.anonymous : world.clients[by];
  const wrong: string[] = [];
  for (const [operationId, one] of Object.entries(all)) {
    const endpoint = endpoints.find((each) => each.operationId === operationId);
    if (endpoint === undefined) continue;
    const { body, headers = {}, first } = one;
    if (first) await world.app.orm.em.fork().execute(first[0], [...first[1]]);
    const reply = await clientOf(one.by ?? 'owner').request(endpoint.method, addressOf(endpoint, one), {
      body,
      headers,
    });
    if (reply.status >= 400) {
      wrong.push(`${operationId} was refused: ${reply.status} ${reply.body?.code} ${reply.body?.detail}`);
      continue;
    }
    const found = await entriesOf(reply.headers.get('x-request-id'));
    if (!found.includes(endpoint.auditAction ?? operationId)) wrong.push(`${operationId}: ${found.join()}`);
  }
  expect(wrong).toEqual([]);
});
