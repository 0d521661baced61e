/** Regular expressions in expressions: back references that fail and large classes end in bounded time. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { consume } from '../../domain/events/match.ts';
import { defaultLimits, template } from '../../language/expressions/index.ts';
import { startTestApp, type Client, type TestApp } from '../support/app.ts';
import { threadClock } from '../support/machine.ts';

let app: TestApp;
let builder: Client;
beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
});
afterAll(() => app.close());

const L = 60_000;
/** Scripts of Unicode: few characters are in each. */
const SCRIPTS = [
  'Armn',
  'Beng',
  'Cher',
  'Deva',
  'Ethi',
  'Geor',
  'Goth',
  'Grek',
  'Gujr',
  'Hang',
  'Hebr',
  'Hira',
];
const ATTACKS: [string, string][] = [
  ['nothing, often', '${ "x" | test("(?:){100000}{100000}{100000}") | tostring }'],
  ['a back reference', `\${ ("a" * ${L}) + "b" + ("a" * ${2 * L}) | test("^(a*b).*?\\\\1c") | tostring }`],
  ['a class', `\${ ("\u0101" * ${4 * L}) | test("^[^" + ("\u0100" * 9900) + "]*x") | tostring }`],
  [
    'many ranges',
    `\${ ("\u0101" * ${4 * L}) | test("^[^" + ([range(300; 9300; 2)] | implode) + "]*x") | tostring }`,
  ],
  [
    'many braces',
    `\${ [range(20) | "{" * 9900 + "\\(.)"] | map(. as $p | try ("x" | test($p)) catch 0) | tostring }`,
  ],
  [
    'many sets',
    `\${ ([range(4096; 4096 + ${L})] | implode) | test("^[" + ${JSON.stringify(
      SCRIPTS.map((name) => `\\p{${name}}\\P{^${name}}`).join(''),
    )} * 40 + "]*?x") | tostring }`,
  ],
];

test.each(ATTACKS)('%s in what a correlation expects does not hold up the API', async (_name, expected) => {
  const filter = { with: { type: 'a.b' }, correlate: { k: { from: '.data.k', expect: expected } } };
  const definition = { schedule: { on: { one: filter } }, do: [{ a: { set: { b: 1 } } }] };
  const state = { done: false };
  const reply = builder.post('/workflows', { name: 'slow', definition }).finally(() => {
    state.done = true;
  });
  let longest = 0;
  while (!state.done) {
    const spent = threadClock();
    await app.anonymous.get('/healthz');
    longest = Math.max(longest, spent());
  }
  expect([201, 422]).toContain((await reply).status);
  expect(longest).toBeLessThan(1_500);
});

test.each(ATTACKS)('%s in a filter of events does not hold up the matcher', (_name, expected) => {
  const filters = [{ with: { type: expected }, correlate: [] }];
  const spec = { mode: 'any' as const, filters, variables: {}, goes_on: false };
  const spent = threadClock();
  consume(spec as never, { bound: {}, had: { main: [], until: [] } }, { type: 'x' });
  expect(spent()).toBeLessThan(1_500);
});

test.each(ATTACKS)('%s in a task ends within the time of an activation', (_name, expected) => {
  const spent = threadClock();
  try {
    template(expected.replaceAll(String(L), String(2 * L)), { mode: 'strict' }).first(null, {
      limits: defaultLimits,
    });
  } catch {
    // That it is refused is as good.
  }
  expect(spent()).toBeLessThan(3_000);
});
