/** What users have chosen for themselves: one JSON object each. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';

const path = '/users/me/preferences';
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function somebody(): Promise<Client> {
  return app.as(await app.createUser({ roles: ['viewer'] }));
}

const tagOf = (reply: Reply) => reply.headers.get('etag') ?? '';
const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } });

test('they are empty at first, and then what was stored', async () => {
  const ada = await somebody();
  const before = await ada.get(path);
  expect([before.status, before.body]).toEqual([200, {}]);
  // Names and nesting are the client's own; names that the server sets elsewhere mean nothing here.
  const content = { console: { views: [{ name: 'Late', n: 1.5 }], theme: null }, id: 'x', created_at: '' };
  const stored = await ada.put(path, content, ifMatch(tagOf(before)));
  expect([stored.status, stored.body]).toEqual([200, content]);
  expect(tagOf(stored)).not.toBe(tagOf(before));
  const read = await ada.get(path);
  expect([read.body, tagOf(read)]).toEqual([content, tagOf(stored)]);
  expect((await ada.put(path, {})).body).toEqual({});
});

test('they need a log-in, and nobody sees those of others', async () => {
  expect((await app.anonymous.get(path)).status).toBe(401);
  expect((await app.anonymous.put(path, {})).status).toBe(401);
  const [ada, grace] = [await somebody(), await somebody()];
  const mine = await ada.put(path, { mine: 'only' });
  const hers = await grace.get(path);
  expect(hers.body).toEqual({});
  expect((await grace.put(path, { hers: true }, ifMatch(tagOf(mine)))).status).toBe(412);
  await grace.put(path, { hers: true });
  expect((await ada.get(path)).body).toEqual({ mine: 'only' });
  const admin = await app.as('admin');
  expect((await admin.get(path)).body).toEqual({});
  const account = await admin.get(`/users/${(await ada.get('/users/me')).body.id}`);
  expect(JSON.stringify(account.body)).not.toContain('only');
});

test.each([{}, { already: 'there' }])(
  'of tabs that change the same state %j at once, one wins and the others are told',
  async (content) => {
    const ada = await somebody();
    if ('already' in content) await ada.put(path, content);
    const tag = tagOf(await ada.get(path));
    const tabs = [1, 2, 3, 4, 5];
    const replies = await Promise.all(tabs.map((tab) => ada.put(path, { tab }, ifMatch(tag))));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412, 412]);
    const winner = tabs[replies.findIndex(({ status }) => status === 200)];
    expect((await ada.get(path)).body).toEqual({ tab: winner });
    const refused = replies.find(({ status }) => status === 412);
    expect(refused?.body.code).toBe('precondition_failed');
  },
);

test('what is no object, too large or too deep is refused, and changes nothing', async () => {
  const ada = await somebody();
  await ada.put(path, { kept: true });
  for (const content of ['[]', '"text"', '1', 'null'])
    expect([content, (await ada.put(path, content)).status]).toEqual([content, 422]);
  // Exactly 64 KiB fit.
  const filled = (bytes: number) => JSON.stringify({ x: 'y'.repeat(bytes - '{"x":""}'.length) });
  const large = await ada.put(path, filled(64 * 1024 + 1));
  expect([large.status, large.body.detail]).toEqual([413, 'The body is larger than 64 KiB.']);
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const deep = await ada.put(path, nested(65));
  expect([deep.status, deep.body.detail]).toEqual([400, expect.stringContaining('64')]);
  expect((await ada.put(path, '{"a":"\\u0000"}')).status).toBe(422);
  expect((await ada.get(path)).body).toEqual({ kept: true });
  expect((await ada.put(path, filled(64 * 1024))).status).toBe(200);
  expect((await ada.put(path, nested(64))).status).toBe(200);
});
