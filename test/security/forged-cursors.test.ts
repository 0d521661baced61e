/** Cursors that no server gave: each list refuses what its SQL could not compare with. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Endpoint } from '../../api/endpoint.ts';
import { toAppError } from '../../api/middleware/errors.ts';
import { encodeCursor } from '../../db/sql.ts';
import { accessRules, type ObjectName } from './access-rules.ts';
import { createAccessWorld, type AccessWorld } from './access-world.ts';

const ID = '0190d4c2-0000-7000-8000-000000000000';
const TIME = '2026-01-01T00:00:00.000000Z';
let world: AccessWorld;

beforeAll(async () => {
  world = await createAccessWorld();
});
afterAll(() => world.close());

/** Values of each type that PostgreSQL does not hold, or not in that column. */
const HOSTILE = [
  '0000-01-01T00:00:00.000000Z',
  '0000-01-01 00:00:00+00',
  '294277-01-01T00:00:00Z',
  '+275760-09-12T00:00:00Z',
  '-004713-01-01T00:00:00Z',
  '2026-13-45T99:99:99Z',
  'infinity',
  '-infinity',
  'NaN',
  '99999999999999999999',
  '9223372036854775808',
  '-1',
  -1,
  2_147_483_647,
  2_147_483_648,
  -2_147_483_649,
  Number.MAX_SAFE_INTEGER,
  1e300,
  1e-300,
  0.5,
  'a\0b',
  '\ud800',
  '',
  null,
  true,
  {},
  [],
];

/** The sort keys of all orders, with values that each list takes. */
const KEYS: readonly (readonly unknown[])[] = [
  [ID],
  ['A_NAME'],
  ['1'],
  [1],
  [TIME, ID],
  [TIME, '1'],
  [-50, ID],
  [1, ID],
  [4.5, 1, ID],
  ['due', TIME, ID],
  ['created', ID],
];

/** The key with each of its values replaced by each of the hostile ones. */
const forged = (key: readonly unknown[]): unknown[][] =>
  key.flatMap((_, place) => HOSTILE.map((value) => key.with(place, value)));

function pathOf({ path }: Endpoint, object: ObjectName | 'none'): string {
  let isFirst = true;
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = isFirst && object !== 'none' ? world.ids[object] : world.parameters(object)[name];
    isFirst = false;
    return encodeURIComponent(value ?? '');
  });
}

/** The addresses of all lists, each sort of those that have several. */
function lists(): string[] {
  return world.app.app.endpoints.flatMap((endpoint) => {
    const rule = accessRules[endpoint.operationId];
    const query = endpoint.query?.shape;
    if (endpoint.method !== 'GET' || query?.['cursor'] === undefined || typeof rule !== 'object') return [];
    const path = pathOf(endpoint, (Object.keys(rule.on) as ObjectName[])[0] ?? 'none');
    const sorts = SORTS[endpoint.operationId];
    const by = endpoint.operationId === 'getUsage' ? ['by=agent'] : [''];
    return (sorts?.map((sort) => `sort=${sort}`) ?? by).map((choice) => `${path}?${choice}&cursor=`);
  });
}

const SORTS: Readonly<Record<string, readonly string[]>> = {
  listHumanTasks: ['priority', 'due', 'created'],
  listMarketplaceItems: ['new', 'installs', 'rating'],
};

test('a list takes a forged cursor for none of its own, or finds nothing after it', async () => {
  const wrong: string[] = [];
  const all = lists();
  expect(all.length).toBeGreaterThan(45);
  for (const list of all) {
    // What the owner may not read, the admin may.
    const { status } = await world.clients.owner.get(list.slice(0, -'&cursor='.length));
    const client = status === 200 ? world.clients.owner : world.clients.admin;
    const ask = (key: readonly unknown[]) => client.get(list + encodeCursor(key));
    const replies = await Promise.all(KEYS.map(ask));
    const taken = KEYS.filter((_, place) => replies[place]?.status === 200);
    if (taken.length === 0) wrong.push(`${list}: no key fits`);
    for (const key of taken.flatMap(forged)) {
      const reply = await ask(key);
      if (reply.status !== 200 && reply.body?.code !== 'invalid_cursor')
        wrong.push(`${list} ${JSON.stringify(key)}: ${reply.status}`);
    }
  }
  expect(wrong).toEqual([]);
});

test.each([
  ['a number', "select '2147483648'::bigint::int"],
  ['a text that is no time', "select 'soon'::timestamptz"],
  ['a time', "select '0000-01-01T00:00:00Z'::timestamptz"],
])('%s that a schema let through and PostgreSQL does not take is a 400', async (_what, sql) => {
  const failure: unknown = await world.app.orm.em
    .fork()
    .execute(sql)
    .catch((error: unknown) => error);
  expect(toAppError(failure)).toMatchObject({ kind: 'bad_request', code: 'not_storable' });
});
