/** With 100,000 waiting listeners, an event finds its own by index, and reads nothing else. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { FIRST, LISTENERS as FIND, SHAPES } from '../../../domain/events/find-listeners.ts';
import { typesOf, valueOf, type Shape } from '../../../domain/events/listener-keys.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertListeners } from '../../support/listeners.ts';

const LISTENERS = 100_000;
let app: TestApp;
let owner: string;

beforeAll(async () => {
  app = await startTestApp();
  owner = (await app.user('builder')).id;
  const em = app.orm.em.fork();
  await insertListeners(em, owner, LISTENERS);
  await em.execute('vacuum analyze listener_key');
});
afterAll(() => app.close());

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

async function planOf(sql: string, values: unknown[]): Promise<{ nodes: Plan[]; buffers: number }> {
  const [row] = await app.orm.em
    .fork()
    .execute<any[]>(`explain (analyze, buffers, format json) ${sql}`, values);
  const root = row['QUERY PLAN'][0].Plan;
  return { nodes: nodesOf(root), buffers: root['Shared Hit Blocks'] + root['Shared Read Blocks'] };
}

test('an event reads the shapes and its listener by the index of keys', async () => {
  const event = { type: 'order.paid', data: { order: 99_123 } };
  const types = JSON.stringify(typesOf(event).map((type) => ({ type, after: '' })));
  const shapes = await app.orm.em
    .fork()
    .execute<{ type: string; shape: string; definition: Shape }[]>(SHAPES, [types, owner, owner]);
  expect(shapes.map(({ definition }) => definition)).toEqual([{ attributes: [], from: ['.data.order'] }]);
  const probes = shapes.map(({ type, shape, definition }, ord) => ({
    ord,
    type,
    shape,
    value: valueOf(definition, event),
  }));
  const found = await app.orm.em.fork().execute<any[]>(FIND, [JSON.stringify(probes), owner, FIRST]);
  expect(found).toHaveLength(1);
  for (const [sql, values] of [
    [SHAPES, [types, owner, owner]],
    [FIND, [JSON.stringify(probes), owner, FIRST]],
  ] as const) {
    const { nodes, buffers } = await planOf(sql, [...values]);
    const read = nodes.filter((node) => node['Relation Name'] === 'listener_key');
    expect(read.length).toBeGreaterThan(0);
    for (const node of read) {
      expect([node['Node Type'], node['Index Name']]).toEqual(['Index Only Scan', 'listener_key_pkey']);
      expect(node['Actual Rows'] * node['Actual Loops']).toBeLessThanOrEqual(2);
    }
    expect(buffers).toBeLessThan(60);
  }
});
