/**
 * Every operation on objects that a team holds, tried by a member of each role, strangers and former members:
 * generated from the endpoint list and the rules of `access-rules.ts`. On the platform all are viewers.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Endpoint } from '../../api/endpoint.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import type { Client, Reply } from '../support/app.ts';
import { accessRules, type ObjectName } from './access-rules.ts';
import { createAccessWorld, type AccessWorld } from './access-world.ts';

/** Objects of the world that the team holds. */
const HELD = [
  'privateAgent',
  'privateWorkflow',
  'privateFile',
  'webhook',
  'hook',
  'eventSource',
  'event',
  'run',
  'chat',
] as const;
/** Webhooks and events are for those who make them: members below builders do not see them, or runs. */
const FOR_BUILDERS: ReadonlySet<ObjectName> = new Set(['webhook', 'hook', 'eventSource', 'event', 'run']);
/** A chat is told of all of the team's human tasks. */
const FOR_ADMINS: ReadonlySet<ObjectName> = new Set(['chat']);
/** Declared for viewers, but for those who may change the object. */
const CHANGES_OF_VIEWERS = new Set(['updateFile', 'deleteFile', 'createFileLink', 'getEventSenders']);
/** For builders and runners. */
const STARTS = new Set(['runWorkflow', 'executeWorkflow', 'getStartableWorkflow']);

let world: AccessWorld;
const members = {} as Record<Role, Client>;
/** By a group in the team, and by nothing else. */
const ofGroups = {} as Record<Role, Client>;
let stranger: Client;
let former: Client;
/** Was an admin of the team by a group, which they are not in any more. */
let formerOfGroup: Client;

beforeAll(async () => {
  world = await createAccessWorld();
  const { app, clients, ids } = world;
  const { admin, owner } = clients;
  for (const role of ROLES) {
    const user = await app.createUser({ username: `team-${role}`, roles: ['viewer'] });
    members[role] = await app.as(user);
    ok(await admin.put(`/teams/${ids.team}/members/${user.id}`, { role }));
    const group = `payments-${role}`;
    ok(await admin.put(`/teams/${ids.team}/groups/${group}`, { role }));
    const grouped = await app.createUser({ username: `group-${role}`, roles: ['viewer'] });
    ok(await admin.patch(`/users/${grouped.id}`, { groups: [group, 'elsewhere'] }));
    ofGroups[role] = await app.as(grouped);
  }
  const moved = await app.createUser({ username: 'moved', roles: ['builder'] });
  ok(await admin.patch(`/users/${moved.id}`, { groups: ['payments-admin'] }));
  ok(await admin.patch(`/users/${moved.id}`, { groups: ['elsewhere'] }));
  formerOfGroup = await app.as(moved);
  const gone = await app.createUser({ username: 'gone', roles: ['builder'] });
  ok(await admin.put(`/teams/${ids.team}/members/${gone.id}`, { role: 'admin' }));
  ok(await admin.delete(`/teams/${ids.team}/members/${gone.id}`));
  former = await app.as(gone);
  stranger = clients.builder;
  for (const path of [
    `/agents/${ids.privateAgent}`,
    `/workflows/${ids.privateWorkflow}`,
    `/files/${ids.privateFile}`,
  ])
    ok(await owner.patch(path, { team_id: ids.team }));
  const em = app.orm.em.fork();
  await em.execute('update delivery_target set team_id = ? where id = ?', [ids.team, ids.webhook]);
  await em.execute('update run set team_id = ? where id = ?', [ids.team, ids.run]);
  await em.execute('update inbound_hook set team_id = ? where id = ?', [ids.team, ids.hook]);
  await em.execute('update event_source set team_id = ? where id = ?', [ids.team, ids.eventSource]);
  await em.execute('update notification_channel set team_id = ? where id = ?', [ids.team, ids.chat]);
  await em.execute('update inbound_event set owner_id = ? where id = ?', [ids.team, ids.event]);
});
afterAll(() => world.close());

function ok(reply: Reply): void {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
}

function pathFor({ path }: Endpoint, object: ObjectName): string {
  let first = true;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = first ? world.ids[object] : world.parameters(object)[name];
    first = false;
    return encodeURIComponent(value ?? '');
  });
  return `${filled}?colour=red`;
}

const rank = (role: Role): number => ROLES.indexOf(role);

/** Whether members with this role see it among what the team holds. */
function isSeen(object: ObjectName, role: Role): boolean {
  if (FOR_ADMINS.has(object)) return role === 'admin';
  return !FOR_BUILDERS.has(object) || rank(role) >= rank('builder');
}

/** What a member with this role in the team, and no more than a viewer on the platform, may do. */
function expectedFor(endpoint: Endpoint, object: ObjectName, needed: Role, role: Role): string | number {
  const { operationId, inTeams = false } = endpoint;
  if (needed !== 'viewer' && !(inTeams && rank(role) >= rank(needed))) return 403;
  const isBuilder = rank(role) >= rank('builder');
  if (!isSeen(object, role)) return 404;
  if (FOR_BUILDERS.has(object) || FOR_ADMINS.has(object)) return 'allowed';
  if (needed === 'viewer' && !CHANGES_OF_VIEWERS.has(operationId) && !STARTS.has(operationId))
    return 'allowed';
  return isBuilder ? 'allowed' : 403;
}

function outcomeOf(status: number): string | number {
  return [400, 409, 415, 422].includes(status) ? 'allowed' : status;
}

function* cells(): Generator<{ endpoint: Endpoint; object: (typeof HELD)[number]; needed: Role }> {
  for (const endpoint of world.app.app.endpoints) {
    const rule = accessRules[endpoint.operationId];
    if (rule === undefined || rule === 'public') continue;
    for (const object of HELD)
      if (rule.on[object] !== undefined) yield { endpoint, object, needed: rule.role };
  }
}

test.each(ROLES.flatMap((role) => [[role, 'themselves'] as const, [role, 'by a group'] as const]))(
  'a member who is %s of the team %s has the rights of that',
  async (role, how) => {
    const client = (how === 'by a group' ? ofGroups : members)[role];
    const wrong: string[] = [];
    let count = 0;
    for (const { endpoint, object, needed } of cells()) {
      const reply = await client.request(endpoint.method, pathFor(endpoint, object));
      const [outcome, expected] = [outcomeOf(reply.status), expectedFor(endpoint, object, needed, role)];
      if (outcome !== expected)
        wrong.push(`${endpoint.operationId} on ${object}: ${outcome}, not ${expected}`);
      count += 1;
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(40);
  },
);

test('strangers and former members have none', async () => {
  const wrong: string[] = [];
  for (const { endpoint, object } of cells())
    for (const client of [stranger, former, formerOfGroup]) {
      const { status } = await client.request(endpoint.method, pathFor(endpoint, object));
      if (status !== 404 && status !== 403) wrong.push(`${endpoint.operationId} on ${object}: ${status}`);
    }
  expect(wrong).toEqual([]);
});

test('lists show members what their role lets them see', async () => {
  const { ids } = world;
  const lists = {
    '/agents?limit=200': 'privateAgent',
    '/workflows?limit=200': 'privateWorkflow',
    '/files?limit=200': 'privateFile',
    '/webhooks?limit=200': 'webhook',
    '/hooks?limit=200': 'hook',
    '/event-sources?limit=200': 'eventSource',
    [`/events/received?team_id=${ids.team}`]: 'event',
    '/runs?limit=200': 'run',
    '/notifications/channels?limit=200': 'chat',
  } as const;
  for (const [path, object] of Object.entries(lists))
    for (const [role, client] of [
      ...ROLES.flatMap((one) => [[one, members[one]] as const, [one, ofGroups[one]] as const]),
      [null, former] as const,
      [null, formerOfGroup] as const,
    ]) {
      const { body } = await client.get(path);
      const sees = role !== null && isSeen(object, role);
      expect([path, role, body.some(({ id }: { id: string }) => id === ids[object])]).toEqual([
        path,
        role,
        sees,
      ]);
    }
});

test('the audit log of the team is for its admins alone', async () => {
  const { ids, clients } = world;
  const outsiders = [clients.builder, clients.candidate, former, clients.viewer];
  for (const path of [`/audit?team_id=${ids.team}`, `/audit/export?team_id=${ids.team}&after=0`]) {
    for (const role of ROLES) {
      const { status } = await members[role].get(path);
      expect([path, role, status]).toEqual([path, role, role === 'admin' ? 200 : 403]);
    }
    for (const client of outsiders) expect([path, (await client.get(path)).status]).toEqual([path, 404]);
    for (const client of [clients.owner, clients.admin])
      expect([path, (await client.get(path)).status]).toEqual([path, 200]);
  }
});
