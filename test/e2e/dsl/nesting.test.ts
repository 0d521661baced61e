/**
 * Random nestings of every control-flow task, against a tiny model of the specification that shares no code
 * with the interpreter.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '../../support/app.ts';
import { runToEnd, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { definitionOf } from './model/definition.ts';
import { meaningOf } from './model/meaning.ts';
import { randomPlan } from './model/plan.ts';

/** `NESTING_SEED` runs a single plan, `NESTING_RUNS` sets their number. */
const only = process.env['NESTING_SEED'];
const seeds =
  only === undefined
    ? Array.from({ length: Number(process.env['NESTING_RUNS'] ?? 120) }, (_, i) => i + 1)
    : [Number(only)];
const AT_ONCE = 6;

let platform: TestPlatform;
let client: Client;
beforeAll(async () => {
  platform = await startTestPlatform();
  client = await platform.as('builder');
});
afterAll(() => platform.close());

test('the model and the platform agree on every plan', async () => {
  const pending = [...seeds];
  const differing: unknown[] = [];
  const kinds = new Set<string>();
  const worker = async (): Promise<void> => {
    for (let seed = pending.pop(); seed !== undefined; seed = pending.pop()) {
      const plan = randomPlan(seed);
      const input = { n: seed % 97, path: [] };
      const expected = meaningOf(plan, input);
      kinds.add('status' in expected ? 'faulted' : 'completed');
      const { status, output, error } = await runToEnd(client, definitionOf(plan), input);
      const actual = status === 'completed' ? output : { status: error.status, instance: error.instance };
      if (JSON.stringify(sorted(actual)) !== JSON.stringify(sorted(expected)))
        differing.push({ seed, expected, actual, definition: JSON.stringify(definitionOf(plan)) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(differing.slice(0, 3)).toEqual([]);
  if (seeds.length > 20) expect([...kinds].toSorted()).toEqual(['completed', 'faulted']);
});

/** Sorts the keys of objects. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
