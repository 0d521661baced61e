/** Whose things commands find and propose: of people by name, also after their accounts are disabled. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { cliAs, cliUser, type CliUser } from '../../support/cli.ts';
import { insertRun } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let cli: CliUser;
let admin: CliUser;
let kim: { id: string; client: Client; webhook: string; hook: string; source: string; run: string };

beforeAll(async () => {
  app = await startTestApp();
  cli = await cliAs(app, 'builder');
  admin = await cliAs(app, 'admin');
  const user = await app.createUser({ username: 'kim', roles: ['builder'] });
  const client = await app.as(user);
  await client.put('/secrets/KEY', { value: 'k'.repeat(20) });
  const made = async (path: string, body: object): Promise<string> => {
    const reply = await client.post(path, body);
    expect(reply.status).toBe(201);
    return reply.body.id;
  };
  kim = {
    id: user.id,
    client,
    webhook: await made('/webhooks', { url: 'https://kim.example.com' }),
    hook: await made('/hooks', { name: 'calls', scheme: 'github', secret: 'KEY' }),
    source: await made('/event-sources', { source: 'urn:kim' }),
    run: await insertRun(app.orm, { owner: user.id, status: 'completed' }),
  };
});
afterAll(async () => app.close());

const lists = (): [string, ...string[]][] => [
  [kim.webhook, 'webhook', 'list', '--owner'],
  [kim.hook, 'hook', 'list', '--owner'],
  [kim.source, 'event', 'sources', '--owner'],
  [kim.run, 'run', 'list', '--owner'],
];

test('the shell proposes what receives events: own first, then of teams and of others', async () => {
  const { username } = await app.user('admin');
  const asAdmin = await app.as('admin');
  const first = (await admin.run(['team', 'create', 'shop', '--admin', username])).json().id;
  await asAdmin.put('/secrets/KEY', { value: 'k'.repeat(20) });
  const own = {
    webhook: await asAdmin.post('/webhooks', { url: 'https://own.example.com' }),
    hook: await asAdmin.post('/hooks', { name: 'own', scheme: 'github', secret: 'KEY' }),
    source: await asAdmin.post('/event-sources', { source: 'urn:own' }),
  };
  // Somebody else has made it for the team.
  await asAdmin.put(`/teams/${first}/members/${kim.id}`, { role: 'builder' });
  const ours = await kim.client.post('/event-sources', { source: 'urn:shop', team_id: first });
  const later = await kim.client.post('/event-sources', { source: 'urn:later' });
  const proposed = async (user: CliUser, ...words: string[]): Promise<string[]> =>
    until(
      async () => {
        const { stdout } = await user.run(['__complete', '--', ...words, '']);
        const lines = stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
        return lines.filter((word) => /^[\da-f-]{36}$/.test(word));
      },
      (found) => found.length > 0,
    );
  const [webhooks, hooks, sources] = await Promise.all([
    proposed(admin, 'webhook', 'get'),
    proposed(admin, 'hook', 'update'),
    proposed(admin, 'event', 'unbind', '--team', 'shop'),
  ]);
  expect(webhooks).toEqual([own.webhook.body.id, kim.webhook]);
  expect(hooks).toEqual([own.hook.body.id, kim.hook]);
  expect(sources[0]).toBe(own.source.body.id);
  expect(sources.toSorted()).toEqual(
    [own.source.body.id, ours.body.id, later.body.id, kim.source].toSorted(),
  );
  // Others see those of their teams, and no more.
  const member = await app.createUser({ roles: ['builder'] });
  await asAdmin.put(`/teams/${first}/members/${member.id}`, { role: 'builder' });
  const asMember = cliUser({ CADENZA_URL: app.url, CADENZA_TOKEN: member.token });
  expect(await proposed(asMember, 'event', 'unbind', '--team', 'shop')).toEqual([ours.body.id]);
  for (const { body } of [ours, later])
    expect((await kim.client.delete(`/event-sources/${body.id}`)).status).toBe(204);
});

describe('of somebody whose account is disabled', () => {
  beforeAll(async () => {
    const { id, username } = await app.user('builder');
    await admin.run(['team', 'create', 'leavers', '--admin', username]);
    await admin.run(['team', 'add', 'leavers', 'kim']);
    const builder = await app.as('builder');
    await builder.post('/workflows', { name: 'listens', definition: { do: [{ a: { set: { n: 1 } } }] } });
    await kim.client.patch(`/event-sources/${kim.source}`, { shared_with: [id] });
    const allowed = await cli.run(['event', 'allow', 'listens', 'kim']);
    expect([allowed.exitCode, allowed.json()]).toEqual([0, [{ id: kim.id, username: 'kim' }]]);
    expect((await admin.run(['user', 'disable', 'kim'])).exitCode).toBe(0);
  });

  test('admins find by their name what they own, and what they did', async () => {
    for (const [id, ...words] of lists()) {
      const { exitCode, stdout, stderr } = await admin.run([...words, 'KIM', '-o', 'name']);
      expect([words, exitCode, stdout, stderr]).toEqual([words, 0, `${id}\n`, '']);
    }
    const did = await admin.run(['audit', 'list', '--actor', 'kim', '--action', 'createHook']);
    expect(did.json()).toMatchObject([{ actor: { id: kim.id }, object: { id: kim.hook } }]);
    for (const words of [
      ['usage', '--user'],
      ['task', 'list', '--scope', 'all', '--claimed-by'],
    ]) {
      const [by, unknown] = [await admin.run([...words, 'kim']), await admin.run([...words, 'nobody'])];
      expect([words, by.exitCode, by.json()]).toEqual([words, 0, []]);
      expect([words, unknown.exitCode, unknown.stderr]).toEqual([
        words,
        1,
        expect.stringContaining('There is no user nobody that you can see'),
      ]);
    }
    await (await app.as('admin')).patch(`/users/${kim.id}`, { budget: { max_cost_usd: 5, window: 'month' } });
    const budget = await admin.run(['budget', 'get', 'user', 'kim']);
    expect([budget.exitCode, budget.json()]).toMatchObject([0, { max_cost_usd: 5 }]);
    // Nobody else learns of the account.
    for (const [, ...words] of lists()) {
      const { exitCode, stderr } = await cli.run([...words, 'kim']);
      expect([words, exitCode, stderr]).toEqual([
        words,
        1,
        'error: There is no user kim that you can see.\n',
      ]);
    }
  });

  test('an admin of a team takes them out by name', async () => {
    const left = await cli.run(['team', 'remove', 'leavers', 'Kim', '--yes']);
    expect([left.exitCode, left.stderr]).toEqual([0, 'Removed Kim from team leavers.\n']);
    expect((await cli.run(['team', 'members', 'leavers', '-o', 'name'])).stdout).not.toContain('kim');
  });

  test('their events are kept from a workflow by name', async () => {
    const taken = await cli.run(['event', 'disallow', 'listens', 'Kim']);
    expect([taken.exitCode, taken.json(), taken.stderr]).toEqual([0, [], '']);
  });
});
