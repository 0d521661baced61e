/**
 * Every operation, tried by each person on each object; generated from the endpoint list and
 * `access-rules.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Endpoint } from '../../api/endpoint.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { accessRules, people, type ObjectName, type Person, type Rule } from './access-rules.ts';
import { createAccessWorld, type AccessWorld } from './access-world.ts';

let world: AccessWorld;
let endpoints: Endpoint[];

beforeAll(async () => {
  world = await createAccessWorld();
  endpoints = world.app.app.endpoints;
});
afterAll(() => world.close());

const roleOf: Record<Person, Role> = {
  viewer: 'viewer',
  approver: 'approver',
  builder: 'builder',
  candidate: 'approver',
  owner: 'builder',
  admin: 'admin',
};

/**
 * The first parameter names the object, the others its parts. The unknown query parameter makes a permitted
 * call fail, so it changes nothing.
 */
function pathFor({ path }: Endpoint, object: ObjectName | 'none'): string {
  let first = true;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = first && object !== 'none' ? world.ids[object] : world.parameters(object)[name];
    first = false;
    if (value === undefined) throw new Error(`the matrix has no value for {${name}} of ${path}`);
    return encodeURIComponent(value);
  });
  return `${filled}?colour=red`;
}

function expectedFor({ role, on }: Rule, object: ObjectName | 'none', person: Person): 'allowed' | 403 | 404 {
  if (ROLES.indexOf(roleOf[person]) < ROLES.indexOf(role)) return 403;
  return on[object]?.[person] ?? 404;
}

/**
 * A permitted call fails at the unknown query parameter (400) or by its state (409), and changes nothing.
 */
function outcomeOf(status: number): string | number {
  return [400, 409, 415, 422].includes(status) ? 'allowed' : status;
}

test('each operation has a rule, and each rule an operation', () => {
  expect(Object.keys(accessRules).toSorted()).toEqual(
    endpoints.map(({ operationId }) => operationId).toSorted(),
  );
});

test('an operation is public only if its rule says so', () => {
  const open = endpoints.filter(({ role }) => role === 'public').map(({ operationId }) => operationId);
  const promised = Object.entries(accessRules)
    .filter(([, rule]) => rule === 'public')
    .map(([id]) => id);
  expect(open.toSorted()).toEqual(promised.toSorted());
});

describe('access to all operations', () => {
  test.each(people.map((person) => [person]))('follows the rules for %s', async (person) => {
    const wrong: string[] = [];
    let cells = 0;
    for (const endpoint of endpoints) {
      const rule = accessRules[endpoint.operationId];
      if (rule === undefined || rule === 'public') continue;
      // The keys of a rule's table are names of objects.
      for (const object of Object.keys(rule.on) as (ObjectName | 'none')[]) {
        const reply = await world.clients[person].request(endpoint.method, pathFor(endpoint, object));
        const expected = expectedFor(rule, object, person);
        const outcome = outcomeOf(reply.status);
        if (outcome !== expected)
          wrong.push(`${endpoint.operationId} on ${object}: ${outcome}, not ${expected}`);
        cells += 1;
      }
    }
    expect(wrong).toEqual([]);
    expect(cells).toBeGreaterThan(100);
  });

  test('needs a token, except for public operations', async () => {
    const wrong: string[] = [];
    for (const endpoint of endpoints) {
      const rule = accessRules[endpoint.operationId];
      if (rule === undefined || rule === 'public') continue;
      const objects = Object.keys(rule.on) as (ObjectName | 'none')[];
      for (const object of objects) {
        const { status } = await world.app.anonymous.request(endpoint.method, pathFor(endpoint, object));
        if (status !== 401 && !endpoint.anonymousToo)
          wrong.push(`${endpoint.operationId} on ${object}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

/** What a file is uploaded for, with the rule of those who may. */
const PURPOSES = [
  ['a decision', 'human_task', accessRules['decideHumanTask'], ['task']],
  ['a start', 'workflow', accessRules['getStartableWorkflow'], ['privateWorkflow', 'publicWorkflow']],
] as const;

test.each(PURPOSES)('a file for %s is for those who may do that', async (_what, parameter, rule, objects) => {
  if (rule === undefined || rule === 'public') throw new Error('there is no rule');
  const wrong: string[] = [];
  for (const object of objects)
    for (const person of people) {
      const path = `/files?${parameter}=${world.ids[object]}`;
      // Refused after all rights were checked.
      const headers = { 'content-type': 'text/plain', 'content-encoding': 'zstd' };
      const reply = await world.clients[person].post(path, 'x', { headers });
      const [outcome, expected] = [outcomeOf(reply.status), expectedFor(rule, object, person)];
      if (outcome !== expected) wrong.push(`${object} by ${person}: ${outcome}, not ${expected}`);
    }
  expect(wrong).toEqual([]);
});

/** Lists of what receives and sends events. */
const RECEIVERS = ['/webhooks', '/hooks', '/event-sources'] as const;

describe('a list', () => {
  type Lists = Record<string, { hidden: ObjectName[]; open: ObjectName[]; seenBy: Person[] }>;
  const owners: Person[] = ['owner', 'admin'];
  const lists: Lists = {
    '/agents?limit=200': { hidden: ['privateAgent'], open: ['publicAgent'], seenBy: owners },
    '/workflows?limit=200': { hidden: ['privateWorkflow'], open: ['publicWorkflow'], seenBy: owners },
    '/runs?limit=200': { hidden: ['run'], open: [], seenBy: owners },
    '/files?limit=200': { hidden: ['privateFile'], open: ['publicFile'], seenBy: owners },
    '/marketplace/items?limit=200': { hidden: [], open: ['approvedItem'], seenBy: owners },
    '/webhooks?limit=200': { hidden: ['webhook'], open: [], seenBy: owners },
    '/hooks?limit=200': { hidden: ['hook'], open: [], seenBy: owners },
    '/event-sources?limit=200': { hidden: ['eventSource'], open: [], seenBy: owners },
    '/users/me/clients': { hidden: ['client'], open: [], seenBy: ['owner'] },
    '/secrets?limit=200': { hidden: ['secret'], open: [], seenBy: ['owner'] },
    '/hitl/tasks?limit=200': { hidden: ['task'], open: [], seenBy: ['candidate'] },
  };

  test.each(Object.keys(lists))('shows public and own objects only: GET %s', async (path) => {
    const list = lists[path]!;
    for (const person of people) {
      const reply = await world.clients[person].get(path);
      expect([person, reply.status]).toEqual([person, 200]);
      const seen = reply.body.map((record: { id?: string; name: string }) => record.id ?? record.name);
      const has = (object: ObjectName): boolean => seen.includes(world.ids[object]);
      expect([person, list.hidden.map(has)]).toEqual([
        person,
        list.hidden.map(() => list.seenBy.includes(person)),
      ]);
      expect([person, list.open.map(has)]).toEqual([person, list.open.map(() => true)]);
    }
  });

  test('shows admins what the person has that a filter names', async () => {
    const { admin, owner } = world.clients;
    const me = (await owner.get('/users/me')).body.id;
    const objects = { '/webhooks': 'webhook', '/hooks': 'hook', '/event-sources': 'eventSource' } as const;
    for (const list of RECEIVERS) {
      const named = (await admin.get(`${list}?owner_id=${me}`)).body;
      const own = (await owner.get(`${list}?owner_id=me`)).body;
      expect([list, named]).toEqual([list, own]);
      expect(named.map(({ id }: { id: string }) => id)).toContain(world.ids[objects[list]]);
      expect([list, (await admin.get(`${list}?owner_id=me`)).body]).toEqual([list, []]);
      expect([list, (await admin.get(`${list}?owner_id=owner`)).status]).toEqual([list, 400]);
    }
  });

  test.each(['/agents', '/workflows', '/files'])('knows the caller as me: %s', async (list) => {
    const { admin, owner } = world.clients;
    const me = (await owner.get('/users/me')).body.id;
    const owners = (await owner.get(`${list}?owner_id=me`)).body.map(
      (one: { owner_id: string }) => one.owner_id,
    );
    expect(owners.length).toBeGreaterThan(0);
    expect(new Set(owners)).toEqual(new Set([me]));
    const { id } = (await admin.get('/users/me')).body;
    const ofAdmin = (await admin.get(`${list}?owner_id=me`)).body;
    expect(ofAdmin.filter((one: { owner_id: string }) => one.owner_id !== id)).toEqual([]);
  });

  test('is empty if a filter names an object of another user', async () => {
    const { builder } = world.clients;
    const { run, privateAgent, privateWorkflow, user } = world.ids;
    const filters = [
      `/files?run_id=${run}`,
      `/hitl/tasks?run_id=${run}`,
      `/runs?parent_run_id=${run}`,
      `/runs?workflow_id=${privateWorkflow}`,
      `/runs?agent_id=${privateAgent}`,
      `/runs?owner_id=${user}`,
      ...RECEIVERS.map((list) => `${list}?owner_id=${user}`),
      `/hitl/tasks?scope=candidate&claimed_by=${user}`,
      `/agents?owner_id=${user}&visibility=private`,
      `/workflows?owner_id=${user}&visibility=private`,
    ];
    for (const path of filters) {
      const { status, body } = await builder.get(path);
      expect([path, status, body]).toEqual([path, 200, []]);
    }
  });
});

describe('parts of an object', () => {
  test('cannot be reached through another object of the caller', async () => {
    const { builder } = world.clients;
    const { delivery_id: delivery, skill_id: skill } = world.parameters('privateAgent');
    const agent = (await registeredAgent(builder)).id;
    const webhook = (await builder.post('/webhooks', { url: 'https://hooks.example.com/mine' })).body.id;
    const attempts: [string, string][] = [
      ['PATCH', `/agents/${agent}/skills/${skill}`],
      ['DELETE', `/agents/${agent}/skills/${skill}`],
      ['GET', `/webhooks/${webhook}/deliveries/${delivery}`],
      ['POST', `/webhooks/${webhook}/deliveries/${delivery}/redeliver`],
    ];
    for (const [method, path] of attempts) {
      expect([method, path, (await builder.request(method, path)).status]).toEqual([method, path, 404]);
    }
  });
});
