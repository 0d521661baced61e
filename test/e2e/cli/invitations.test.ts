/** The command line invites people, by real processes. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { tokenOf } from '../../support/account-mails.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { cliUser, type CliUser } from '../../support/cli.ts';

const PASSWORD = 'correct horse battery staple';
let app: TestApp;
let boss: CliUser;

beforeAll(async () => {
  app = await startTestApp();
  const body = { username: 'boss', email: 'boss@example.com', password: PASSWORD, roles: ['admin'] };
  expect((await (await app.as('admin')).post('/users', body)).status).toBe(201);
  boss = cliUser({ CADENZA_URL: app.url });
  const login = await boss.run(['login', '-u', 'boss', '--password-stdin'], { stdin: `${PASSWORD}\n` });
  expect(login.exitCode).toBe(0);
});
afterAll(async () => app.close());

test('without a mail server the link is printed; an invitation is repeated and taken back', async () => {
  const create = ['user', 'create', 'ada', '--email', 'ada@example.com', '--role', 'builder', '--invite'];
  const both = await boss.run([...create, '--password-stdin'], { stdin: PASSWORD });
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('Choose one of --invite')]);
  const created = await boss.run([...create, '-o', 'json']);
  expect([created.exitCode, created.stderr]).toEqual([0, expect.stringContaining('hand the link over')]);
  expect(created.json()).toMatchObject({ mailed_to: null });
  const first = created.json().link;
  const again = await boss.run(['user', 'invite', 'ada', '-o', 'json']);
  const second = again.json().link;
  const use = (link: string) =>
    app.anonymous.post('/auth/password', { token: tokenOf(link), password: PASSWORD });
  expect((await use(first)).status).toBe(410);
  const back = await boss.run(['user', 'withdraw-invitation', 'ada']);
  expect([back.exitCode, back.stderr]).toEqual([0, 'Took the invitation of ada back.\n']);
  expect((await use(second)).status).toBe(410);
  const third = (await boss.run(['user', 'invite', 'ada', '-o', 'json'])).json().link;
  expect((await use(third)).status).toBe(204);
  const refused = await boss.run(['user', 'invite', 'ada']);
  expect([refused.exitCode, refused.stderr]).toEqual([
    5,
    expect.stringContaining('This user has a password'),
  ]);
});
