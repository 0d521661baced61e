/** Mistakes on the command line, and refusals of the server in its words. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { cliAs, type CliUser } from '../../support/cli.ts';

let app: TestApp;
let builder: Client;
let cli: CliUser;
let admin: CliUser;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
  cli = await cliAs(app, 'builder');
  admin = await cliAs(app, 'admin');
});
afterAll(async () => app.close());

test('refused fields are named as they were typed', async () => {
  const grace = ['user', 'create', 'grace', '--role', 'approver', '--password-stdin', '--email'];
  const [password, email, expires, after, status, json, absence] = await Promise.all([
    admin.run([...grace, 'grace@example.com'], { stdin: 'short' }),
    admin.run([...grace, 'nowhere'], { stdin: 'correct horse battery staple' }),
    cli.run(['token', 'create', 'ci', '--scope', 'runs:read', '--expires', '9999d']),
    cli.run(['run', 'list', '--after', 'yesterday']),
    cli.run(['run', 'list', '--status', 'runing']),
    cli.run(['run', 'list', '--status', 'runing', '-o', 'json']),
    cli.run(['absence', 'create', 'nobody', '2126-01-08', '--from', '2126-02-01']),
  ]);
  expect(absence.stderr).toMatch(/^(?:error: |  )(?:DEPUTY|UNTIL|--from)\b/m);
  expect(absence.stderr).not.toMatch(/\/(?:deputy|until|from)/);
  expect(password.stderr).toMatch(/^error: --password-stdin/);
  expect(email.stderr).toMatch(/^error: --email/);
  expect(expires.stderr).toMatch(/^error: --expires/);
  expect(after.stderr).toMatch(/^error: --after/);
  expect(status.stderr).toMatch(/^error: --status/);
  // Programs get the field of the API.
  expect(JSON.parse(json.stderr).errors[0].pointer).toMatch(/^status/);
});

test('a wrong role is named, with the one that is probably meant', async () => {
  const create = ['user', 'create', 'hopper', '--email', 'h@example.com', '--invite', '--role'];
  const [near, far, update] = await Promise.all([
    admin.run([...create, 'aprover']),
    admin.run([...create, 'boss']),
    admin.run(['user', 'update', 'hopper', '--role', 'viewer', '--role', 'biulder']),
  ]);
  expect([near.exitCode, near.stderr]).toEqual([
    2,
    'error: There is no role aprover, did you mean "approver"?\n',
  ]);
  expect([far.exitCode, far.stderr]).toEqual([
    2,
    expect.stringMatching(/^error: There is no role boss: --role is one of .*approver/),
  ]);
  expect(update.stderr).toContain('There is no role biulder, did you mean "builder"?');
});

test('a team that holds something says what, and a wrong name of a team the near one', async () => {
  const { username } = await app.user('builder');
  expect((await admin.run(['team', 'create', 'payroll', '--admin', username])).exitCode).toBe(0);
  const put = ['secret', 'set', 'KEY', '--stdin', '--team', 'payroll'];
  expect((await cli.run(put, { stdin: 'value' })).exitCode).toBe(0);
  const [held, wrong] = await Promise.all([
    admin.run(['team', 'delete', 'payroll', '--yes']),
    cli.run(['secret', 'list', '--team', 'payrol']),
  ]);
  expect([held.exitCode, held.stderr]).toEqual([
    5,
    'error: The team still owns objects: move or delete them first.\n  It holds: secrets: 1\n',
  ]);
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    1,
    'error: There is no team payrol that you can see, did you mean "payroll"?\n',
  ]);
});

test('a run that is in the way is named', async () => {
  await builder.post('/workflows', { name: 'keyed-runs', definition: { do: [{ a: { set: { b: 1 } } }] } });
  const start = (value: string) =>
    cli.run(['run', 'start', 'keyed-runs', '--key', 'once', '-i', `n=${value}`, '-o', 'name']);
  const first = await start('1');
  expect(first.exitCode).toBe(0);
  const second = await start('2');
  expect([second.exitCode, second.stderr]).toEqual([
    5,
    `error: A live run of the workflow has this key, and other input.\n  Run: ${first.stdout}`,
  ]);
});

test('a missing secret is answered with the command that stores it', async () => {
  const hook = ['hook', 'create', 'calls', '--scheme', 'github', '--secret', 'MISSING_KEY'];
  const { exitCode, stderr } = await cli.run(hook);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('cadenza secret set MISSING_KEY')]);
  expect(stderr).not.toContain('PUT /secrets');
  // Warnings too.
  const configuration = { endpoint: 'https://example.com/s', headers: { 'X-Key': '<OTHER_KEY>' } };
  const agent = { name: 'keyed', type: 'api', version: '1.0.0', visibility: 'private', configuration };
  const registered = await cli.run(['agent', 'create', '-'], { stdin: JSON.stringify(agent) });
  expect([registered.exitCode, registered.stderr]).toEqual([
    0,
    expect.stringContaining('add it with cadenza secret set OTHER_KEY'),
  ]);
});

test('of a team, the command that stores a missing secret names the team', async () => {
  const { username } = await app.user('builder');
  const made = await admin.run(['team', 'create', 'receivers', '--admin', username]);
  const command = `cadenza secret set TEAM_KEY --team ${made.json().id}`;
  const hook = ['hook', 'create', 'calls', '--scheme', 'github', '--secret', 'TEAM_KEY'];
  const { exitCode, stderr } = await cli.run([...hook, '--team', 'receivers']);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`store it with ${command}\n`)]);
  const configuration = { endpoint: 'https://example.com/s', headers: { 'X-Key': '<TEAM_KEY>' } };
  const agent = { name: 'ours', type: 'api', version: '1.0.0', visibility: 'private', configuration };
  const registered = await cli.run(['agent', 'create', '-', '--team', 'receivers'], {
    stdin: JSON.stringify(agent),
  });
  expect([registered.exitCode, registered.stderr]).toEqual([
    0,
    expect.stringContaining(`the secret TEAM_KEY is not in the team's store: add it with ${command};`),
  ]);
  const [, ...words] = command.split(' ');
  expect((await cli.run([...words, '--stdin'], { stdin: 'k'.repeat(20) })).exitCode).toBe(0);
  const created = await cli.run([...hook, '--team', 'receivers']);
  expect([created.exitCode, created.stderr]).toEqual([0, '']);
  const { warnings } = (await cli.run(['agent', 'get', registered.json().id])).json();
  expect(warnings).toEqual([]);
});

test('a list of nothing is refused', async () => {
  const { exitCode, stderr } = await cli.run(['run', 'list', '--limit', '0']);
  expect([exitCode, stderr]).toEqual([2, 'error: --limit is at least 1.\n']);
});

test('a wrong token of the environment is named, instead of the advice to log in', async () => {
  const { exitCode, stderr } = await cli.run(['run', 'list'], { env: { CADENZA_TOKEN: 'wrong' } });
  expect([exitCode, stderr]).toEqual([4, expect.stringContaining('the token in CADENZA_TOKEN')]);
});

test('an audit log is narrowed to a person by username', async () => {
  const { username } = await app.user('builder');
  await builder.put('/secrets/AUDITED', { value: 'v' });
  const [byName, unknown] = await Promise.all([
    admin.run(['audit', 'list', '--actor', username, '--action', 'putSecret']),
    admin.run(['audit', 'list', '--actor', `${username}x`]),
  ]);
  expect(byName.exitCode).toBe(0);
  expect(new Set(byName.json().map(({ actor }: any) => actor.username))).toEqual(new Set([username]));
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    1,
    expect.stringContaining(`did you mean "${username}"`),
  ]);
});
