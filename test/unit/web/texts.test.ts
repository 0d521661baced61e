/** Lengths, times, Markdown and addresses. */
import { expect, test } from '@jest/globals';

import { addressOf, routeOf } from '../../../web/src/app/routes.ts';
import { blocksOf } from '../../../web/src/ui/markdown.ts';
import { lengthText, relativeTime } from '../../../web/src/ui/time.ts';

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_300, '1.3 s'],
  [12_400, '12 s'],
  [59_900, '1 m'],
  [250_000, '4 m 10 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h'],
  [273_600_000, '3 d 4 h'],
])('%d ms is %s', (ms, text) => {
  expect(lengthText(ms)).toBe(text);
});

test('times are relative to now, in one unit', () => {
  const now = Date.parse('2026-01-02T00:00:00Z');
  const at = (ms: number) => relativeTime(new Date(now + ms).toISOString(), now);
  expect([at(0), at(-59_000), at(-300_000), at(10_800_000), at(-86_400_000 * 12)]).toEqual([
    'now',
    'now',
    '5 m ago',
    'in 3 h',
    '12 d ago',
  ]);
});

test('Markdown is read as data, and what is no Markdown stays text', () => {
  expect(blocksOf('The **parcel** *never* `x`.\n\n- one\n- [two](https://example.com)\n\n<b>&</b>')).toEqual([
    {
      kind: 'paragraph',
      parts: [
        { kind: 'text', text: 'The ' },
        { kind: 'strong', text: 'parcel' },
        { kind: 'text', text: ' ' },
        { kind: 'em', text: 'never' },
        { kind: 'text', text: ' ' },
        { kind: 'code', text: 'x' },
        { kind: 'text', text: '.' },
      ],
    },
    {
      kind: 'list',
      entries: [
        [{ kind: 'text', text: 'one' }],
        [{ kind: 'link', text: 'two', href: 'https://example.com' }],
      ],
    },
    { kind: 'paragraph', parts: [{ kind: 'text', text: '<b>&</b>' }] },
  ]);
});

test('a link leads to the web only', () => {
  const text = '[x](javascript:alert(1)) [y](data:text/html,1)';
  expect(blocksOf(text)).toEqual([{ kind: 'paragraph', parts: [{ kind: 'text', text }] }]);
});

test('a label ends at its bracket, and an address may have brackets', () => {
  const linkOf = (text: string) => blocksOf(text)[0];
  expect(linkOf('see [1] and [[two](https://[::1]/a[b]c)')).toMatchObject({
    parts: [
      { kind: 'text', text: 'see [1] and [' },
      { kind: 'link', text: 'two', href: 'https://[::1]/a[b]c' },
    ],
  });
});

// With time that grows by the square of the length, each would take hours.
test.each(['[', '[a](', '[a](http://b', '[a](http://]', '*', '**a', '`', '* a', '\n[a'])(
  'two million characters of %j are read',
  (unit) => {
    const text = unit.repeat(2_000_000 / unit.length);
    const [block] = blocksOf(text);
    expect(JSON.stringify(block).length).toBeGreaterThan(text.length / 2);
  },
);

test('addresses name the screens', () => {
  expect(
    [
      '/console/',
      '/console/inbox',
      '/console/runs',
      '/console/runs/a',
      '/console/agents',
      '/console/agents/new',
      '/console/agents/a',
      '/console/agents/a/edit',
      '/console/agents/a/other',
      '/console/marketplace',
      '/console/marketplace/a',
      '/console/marketplace/reviews',
      '/console/settings',
      '/console/settings/users',
      '/console/settings/users/a',
      '/console/settings/users/a/b',
      '/console/settings/files/a',
      '/console/settings/other',
      '/console/x',
      '/console/runs/a/b',
    ].map(routeOf),
  ).toEqual([
    { screen: 'inbox' },
    { screen: 'inbox' },
    { screen: 'runs' },
    { screen: 'run', id: 'a' },
    { screen: 'agents' },
    { screen: 'agent-new' },
    { screen: 'agent', id: 'a' },
    { screen: 'agent-edit', id: 'a' },
    { screen: 'unknown' },
    { screen: 'marketplace' },
    { screen: 'market-item', id: 'a' },
    { screen: 'market-reviews' },
    { screen: 'settings', part: 'profile' },
    { screen: 'settings', part: 'users' },
    { screen: 'user', id: 'a' },
    { screen: 'unknown' },
    { screen: 'unknown' },
    { screen: 'unknown' },
    { screen: 'unknown' },
    { screen: 'unknown' },
  ]);
  expect(addressOf('/console/runs', { q: 'a&b', status: '', none: undefined })).toBe('/console/runs?q=a%26b');
});
