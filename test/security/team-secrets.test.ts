/** The marketplace refuses values of secrets of the publisher, and of the team that owns the object. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../support/app.ts';
import { publishedAgent } from '../support/marketplace.ts';

const VALUE = 'blue-harbour-twelve-lanterns';
let app: TestApp;
let admin: Client;
let member: Client;
let team: string;
beforeAll(async () => {
  app = await startTestApp();
  const boss = await app.createUser({ username: 'boss', roles: ['admin'] });
  admin = await app.as(boss);
  team = (await admin.post('/teams', { name: 'payers', admin: boss.id })).body.id;
  const user = await app.createUser({ username: 'ada' });
  await admin.put(`/teams/${team}/members/${user.id}`, { role: 'admin' });
  member = await app.as(user);
});
afterAll(() => app.close());

test.each(['a person', 'a team'])('a secret of %s in a text of a published item', async (whose) => {
  const more = whose === 'a team' ? { team_id: team } : {};
  const path = whose === 'a team' ? `/secrets/KEY?team_id=${team}` : '/secrets/KEY';
  const stored = await member.put(path, { value: whose === 'a team' ? VALUE : `${VALUE}-own` });
  expect([stored.status, stored.body]).toEqual([expect.any(Number), expect.anything()]);
  const value = whose === 'a team' ? VALUE : `${VALUE}-own`;
  const agent = await publishedAgent(member, { ...more, description: `Ask with ${value}` });
  const reply = await member.post('/marketplace/items', {
    kind: 'agent',
    ref_id: agent.id,
    version: agent.version,
  });
  expect([reply.status, reply.body.errors?.[0]?.code ?? reply.body.code]).toEqual([422, 'literal_secret']);
});

test('nobody else learns the value of a secret of the team by being refused', async () => {
  const agent = await publishedAgent(member, { team_id: team, name: 'other', description: 'Asks' });
  const stranger = await app.as(await app.createUser({ roles: ['builder'] }));
  const submit = (summary: string) =>
    stranger.post('/marketplace/items', { kind: 'agent', ref_id: agent.id, version: agent.version, summary });
  const [wrong, right] = [await submit('Ask with something else'), await submit(`Ask with ${VALUE}`)];
  expect([right.status, right.body.code]).toEqual([wrong.status, wrong.body.code]);
});
