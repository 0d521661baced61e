/** The directory of people: names for everybody, and nothing else. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let admin: Client;
let viewer: Client;
const ids: Record<string, string> = {};

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
  viewer = await app.as('viewer');
  for (const [username, display_name] of [
    ['Bea', 'Beatrix Kiddo'],
    ['anna_b', null],
    ['annaxb', 'Anna Äther'],
    ['carl', 'Carl 100%'],
    ['gone', 'Gone Anna'],
  ] as const) {
    const { body } = await admin.post('/users', {
      username,
      email: `${username}@example.com`,
      display_name,
      password: 'a long enough one',
      roles: ['approver'],
    });
    ids[username] = body.id;
  }
  await admin.patch(`/users/${ids['gone']}`, { status: 'disabled' });
});
afterAll(() => app.close());

const names = (reply: { body: any }): string[] =>
  reply.body.map(({ username }: { username: string }) => username);
const search = async (q: string) => names(await viewer.get(`/users/directory?q=${encodeURIComponent(q)}`));

test('everybody who is logged in sees names, and nothing but names', async () => {
  expect((await app.anonymous.get('/users/directory')).status).toBe(401);
  const { status, body } = await viewer.get('/users/directory?q=bea');
  const avatar = { initials: 'BK', hue: expect.any(Number) };
  expect([status, body]).toEqual([
    200,
    [{ id: ids['Bea'], username: 'Bea', display_name: 'Beatrix Kiddo', avatar }],
  ]);
});

test('an operator may show the mail addresses too, which are still no search text', async () => {
  const open = await startTestApp({ databaseUrl: app.databaseUrl, env: { DIRECTORY_EMAIL: 'true' } });
  const everybody = await open.as('approver');
  const [bea] = (await everybody.get('/users/directory?q=bea')).body;
  expect(bea).toMatchObject({ username: 'Bea', email: 'Bea@example.com' });
  expect((await everybody.get('/users/directory?q=example.com')).body).toEqual([]);
  await open.close();
});

test('a search finds active people by username and display name, and takes its text literally', async () => {
  expect(await search('ANNA')).toEqual(['anna_b', 'annaxb']);
  expect(await search('anna_b')).toEqual(['anna_b']);
  expect(await search('äTHER')).toEqual(['annaxb']);
  expect(await search('100%')).toEqual(['carl']);
  expect(await search('%')).toEqual(['carl']);
  expect(await search('gone')).toEqual([]);
  // Neither email addresses nor roles can be searched.
  expect(await search('example.com')).toEqual([]);
  expect(await search("' or true --")).toEqual([]);
});

test('the whole username finds one active person, in any case', async () => {
  const find = async (username: string) =>
    names(await viewer.get(`/users/directory?username=${encodeURIComponent(username)}`));
  expect(await find('BEA')).toEqual(['Bea']);
  expect(await find('anna_b')).toEqual(['anna_b']);
  for (const other of ['anna', 'Beatrix Kiddo', 'gone', '%', 'anna%b']) expect(await find(other)).toEqual([]);
  expect(names(await viewer.get('/users/directory?username=bea&q=carl'))).toEqual([]);
  expect(names(await viewer.get(`/users/directory?username=gone&ids=${ids['gone']}`))).toEqual([]);
});

test('records keep the names of disabled people: they are found by id', async () => {
  const wanted = [ids['gone'], ids['Bea']?.toUpperCase(), '0190d4c2-0000-7000-8000-000000000000'].join(',');
  expect(names(await viewer.get(`/users/directory?ids=${wanted}`))).toEqual(['Bea', 'gone']);
  expect(names(await viewer.get(`/users/directory?ids=${wanted}&q=e`))).toEqual(['Bea']);
  expect(names(await viewer.get('/users/directory'))).not.toContain('gone');
});

test('pages follow the username in any case, without gaps or repeats', async () => {
  const all: string[] = [];
  let path: string | undefined = '/users/directory?limit=2';
  while (path !== undefined) {
    const reply: Awaited<ReturnType<Client['get']>> = await viewer.get(path);
    expect(reply.body.length).toBeLessThanOrEqual(2);
    all.push(...names(reply));
    path = /<(.+)>/.exec(reply.headers.get('link') ?? '')?.[1];
  }
  expect(all).toEqual(expect.arrayContaining(['anna_b', 'annaxb', 'Bea', 'carl', 'the-admin']));
  expect(new Set(all).size).toBe(all.length);
  const order = names(await viewer.get('/users/directory?limit=200'));
  expect(all).toEqual(order);
  expect(order.indexOf('annaxb')).toBeLessThan(order.indexOf('Bea'));
});

test('bad input is refused with the parameter that is wrong', async () => {
  const tooMany = Array.from({ length: 201 }, () => ids['Bea']).join(',');
  for (const [query, pointer] of [
    ['ids=someone', 'ids'],
    ['ids=', 'ids'],
    [`ids=${tooMany}`, 'ids'],
    ['q=', 'q'],
    [`q=${'x'.repeat(256)}`, 'q'],
    ['q=%00', 'q'],
    ['username=', 'username'],
    [`username=${'x'.repeat(256)}`, 'username'],
    ['limit=201', 'limit'],
    ['role=admin', 'role'],
    ['cursor=W10', 'cursor'],
  ]) {
    const { status, body } = await viewer.get(`/users/directory?${query}`);
    expect([query, status, body.errors?.[0]?.pointer.split('/')[0]]).toEqual([query, 400, pointer]);
  }
});
