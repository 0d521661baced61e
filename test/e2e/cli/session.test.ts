/** The command line's session, by real processes: log-in, refresh by many at once, log-out, any endpoint. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { limitSessions } from '../../../domain/auth/second-factor.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { createClient, startTestApp, type TestApp } from '../../support/app.ts';
import { cliAs, cliOnTerminal, cliUser, type CliUser, noTerminal } from '../../support/cli.ts';
import { testUnless } from '../../support/outside.ts';
import { until } from '../../support/platform.ts';
import { totpCode } from '../../support/totp.ts';

const password = 'correct horse battery staple';
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
  const admin = await app.as('admin');
  const user = { username: 'ada', email: 'ada@example.com', password, roles: ['builder'] };
  expect((await admin.post('/users', user)).status).toBe(201);
});
afterAll(async () => app.close());

const here = (): CliUser => cliUser({ CADENZA_URL: app.url });
const profileOf = (user: CliUser): any => JSON.parse(readFileSync(user.configFile, 'utf8')).profiles.default;
const logIn = (user: CliUser) =>
  user.run(['login', '-u', 'ada', '--password-stdin'], { stdin: `${password}\n` });

/** Makes the stored access token look as if it had ended. */
function age(user: CliUser): void {
  const configuration = JSON.parse(readFileSync(user.configFile, 'utf8'));
  configuration.profiles.default.expires_at = 0;
  writeFileSync(user.configFile, JSON.stringify(configuration));
}

test('somebody logs in by a code that they approve in the console, and logs out', async () => {
  const user = here();
  const login = user.start(['login']);
  const code = await until(
    async () => /approve the code (\S+)/.exec(login.stderr())?.[1],
    (found) => found !== undefined,
  );
  expect(login.stderr()).toContain(`${app.url}/console/device?code=${code}`);
  const builder = await app.as('builder');
  const asked = await builder.get(`/auth/device?user_code=${code}`);
  expect(asked.body.device).toMatch(/^cadenza-cli on (Linux|macOS)$/);
  const decided = await builder.post('/auth/device/decision', { user_code: code, decision: 'approve' });
  expect(decided.status).toBe(204);
  const { exitCode, stdout, stderr } = await login.done;
  expect([exitCode, stdout]).toEqual([0, '']);
  expect(stderr).toContain('as the-builder');
  expect(statSync(user.configFile).mode & 0o777).toBe(0o600);

  expect((await user.run(['whoami', '-o', 'name'])).stdout).toBe('the-builder\n');
  const { refresh_token: refresh } = profileOf(user);
  expect((await user.run(['logout'])).exitCode).toBe(0);
  expect(profileOf(user)).toEqual({ url: app.url });
  expect((await user.run(['whoami'])).exitCode).toBe(4);
  const again = await app.anonymous.post('/auth/token', {
    grant_type: 'refresh_token',
    refresh_token: refresh,
  });
  expect(again.status).toBe(401);
});

test('a log-in says that its profile is now the current one, and a missing profile is named', async () => {
  const user = here();
  const missing = await user.run(['whoami', '--profile', 'nobody']);
  expect([missing.exitCode, missing.stderr]).toEqual([
    4,
    'error: There is no profile nobody.\nTo make it: cadenza login --profile nobody\n',
  ]);
  const first = await logIn(user);
  expect(first.stderr).toBe(`Logged in at ${app.url} as ada (profile default).\n`);
  const args = ['login', '-u', 'ada', '--password-stdin', '--profile', 'work'];
  const second = await user.run(args, { stdin: `${password}\n` });
  expect(second.stderr).toContain('work is now the current profile. See: cadenza config list\n');
  expect((await user.run(args, { stdin: `${password}\n` })).stderr).not.toContain('now the current');
  const unknown = await user.run(['whoami', '-o', 'json'], { env: { CADENZA_PROFILE: 'nobody' } });
  expect([unknown.exitCode, JSON.parse(unknown.stderr)]).toEqual([
    4,
    expect.objectContaining({
      code: 'no_such_profile',
      detail: 'There is no profile nobody. There is: default, work.',
    }),
  ]);
  const byToken = { CADENZA_TOKEN: (await app.user('builder')).token };
  expect((await user.run(['whoami', '--profile', 'nobody'], { env: byToken })).exitCode).toBe(0);
});

test('a denied code, a wrong password and a wrong secret are 4, and store nothing', async () => {
  const user = here();
  const login = user.start(['login', '-o', 'json']);
  const code = await until(
    async () => /approve the code (\S+)/.exec(login.stderr())?.[1],
    (found) => found !== undefined,
  );
  await (await app.as('builder')).post('/auth/device/decision', { user_code: code, decision: 'deny' });
  const [denied, wrongPassword, wrongSecret] = await Promise.all([
    login.done,
    user.run(['login', '-u', 'ada', '--password-stdin'], { stdin: 'wrong' }),
    user.run(['login', '--client-id', 'nobody', '--client-secret-stdin'], { stdin: 'wrong' }),
  ]);
  expect([denied, wrongPassword, wrongSecret].map(({ exitCode }) => exitCode)).toEqual([4, 4, 4]);
  expect(denied.stderr).toContain('"code":"access_denied"');
  // They say what is wrong: another log-in alone would not help.
  expect(wrongPassword.stderr).toBe('error: The credentials are incorrect.\n');
  expect(wrongSecret.stderr).toBe('error: The client id or secret is incorrect.\n');
  expect(() => readFileSync(user.configFile)).toThrow('ENOENT');
});

test('many processes that refresh at once all succeed, and the session goes on', async () => {
  const user = here();
  expect((await logIn(user)).exitCode).toBe(0);
  const before = profileOf(user);
  age(user);
  const all = await Promise.all(Array.from({ length: 6 }, () => user.run(['whoami', '-o', 'name'])));
  expect(all.map(({ exitCode, stdout }) => [exitCode, stdout])).toEqual(all.map(() => [0, 'ada\n']));
  const after = profileOf(user);
  expect(after.refresh_token).not.toBe(before.refresh_token);
  expect(after.username).toBe('ada');
  age(user);
  expect((await user.run(['whoami', '-o', 'name'])).stdout).toBe('ada\n');
});

test('a lock that a killed process left is taken over, and a session that was ended is 4', async () => {
  const user = here();
  await logIn(user);
  age(user);
  // No process has this id: it is above the highest that Linux gives.
  const { hostname } = await import('node:os');
  writeFileSync(`${user.configFile}.lock`, `4194999 ${hostname()}`);
  expect((await user.run(['whoami', '-o', 'name'])).stdout).toBe('ada\n');
  const { refresh_token: token } = profileOf(user);
  await fetch(`${app.url}/auth/revoke`, { method: 'POST', body: new URLSearchParams({ token }) });
  const { exitCode, stderr } = await user.run(['whoami', '-o', 'json']);
  expect([exitCode, JSON.parse(stderr).code]).toEqual([4, 'session_over']);
  expect(profileOf(user)).toEqual({ url: app.url });
});

test('an admin lists the sessions of a user, and ends one or all', async () => {
  const body = { username: 'kay', email: 'kay@example.com', password, roles: ['builder'] };
  expect((await (await app.as('admin')).post('/users', body)).status).toBe(201);
  const tokens = [];
  for (let count = 0; count < 3; count++)
    tokens.push((await app.anonymous.post('/auth/token', { username: 'kay', password })).body.access_token);
  const [first, second, third] = tokens.map((token: string) => createClient(app.url, token));
  const admin = await cliAs(app, 'admin');
  const sessions = (...args: string[]) => admin.run(['session', ...args]);

  const list = (await sessions('list', '--user', 'kay')).json();
  expect(list).toMatchObject(list.map(() => ({ kind: 'token', current: false })));
  expect(list).toHaveLength(3);
  expect((await sessions('list', '--user', 'kay', '-o', 'table')).stdout).toContain(list[0].id);
  const wrong = [
    await sessions('end', '--user', 'kay', '--yes'),
    await sessions('end', list[0].id, '--user', 'kay', '--all', '--yes'),
    await sessions('end', '--user', 'kay', '--others', '--yes'),
    await sessions('end', '--all', '--yes'),
    await sessions('end', list[0].id, '--user', 'kay'),
  ];
  expect(wrong.map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2, 2]);
  expect(wrong[0]?.stderr).toContain('Give a SESSION or --all.');
  expect((await sessions('end', list[0].id, '--user', 'nobody', '--yes')).exitCode).toBe(1);
  expect((await first?.get('/users/me'))?.status).toBe(200);

  const one = await sessions('end', list[0].id, '--user', 'kay', '--yes');
  expect([one.exitCode, one.stderr]).toEqual([0, `Ended session ${list[0].id} of kay.\n`]);
  expect((await first?.get('/users/me'))?.status).toBe(401);
  expect((await second?.get('/users/me'))?.status).toBe(200);
  const all = await sessions('end', '--user', 'kay', '--all', '--yes');
  expect([all.exitCode, all.stderr]).toEqual([0, 'Ended all sessions of kay.\n']);
  expect((await third?.get('/users/me'))?.status).toBe(401);
  expect((await sessions('list', '--user', 'kay')).json()).toEqual([]);
  // Who is no admin may not.
  const asBuilder = await cliAs(app, 'builder');
  const refused = await asBuilder.run(['session', 'list', '--user', list[0].id]);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('admin')]);
});

test('a token goes to the server that gave it and to no other', async () => {
  const user = here();
  await logIn(user);
  const seen: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const answers = [
    await user.run(['api', 'GET', '/runs'], { env: { CADENZA_URL: url } }),
    await user.run(['whoami'], { env: { CADENZA_URL: url } }),
    await user.run(['api', 'GET', `${url}/runs`]),
  ];
  other.close();
  expect(answers.map(({ exitCode }) => exitCode)).toEqual([0, 4, 2]);
  expect(seen).toEqual([undefined]);
});

test('CI uses a token or client credentials of the environment, or logs in with them', async () => {
  const logged = await app.anonymous.post('/auth/token', { username: 'ada', password });
  const headers = { authorization: `Bearer ${logged.body.access_token}` };
  const created = await app.anonymous.post('/users/me/clients', { name: 'ci' }, { headers });
  const { client_id: id, client_secret: secret } = created.body;
  const ci = here();
  const client = { CADENZA_CLIENT_ID: id, CADENZA_CLIENT_SECRET: secret };
  const [byToken, byClient, login] = await Promise.all([
    ci.run(['whoami', '-o', 'name'], { env: { CADENZA_TOKEN: logged.body.access_token } }),
    ci.run(['whoami', '-o', 'name'], { env: client }),
    ci.run(['login', '--client-id', id, '--client-secret-stdin'], { stdin: secret }),
  ]);
  expect([byToken, byClient].map(({ stdout }) => stdout)).toEqual(['ada\n', 'ada\n']);
  expect(login.exitCode).toBe(0);
  age(ci);
  expect((await ci.run(['whoami', '-o', 'name'])).stdout).toBe('ada\n');
});

test('somebody verifies who they are without a terminal, by a password on standard input', async () => {
  const user = here();
  await logIn(user);
  const verify = (args: readonly string[], stdin?: string) =>
    user.run(['session', 'verify', ...args], stdin === undefined ? {} : { stdin });
  const [right, wrong, both, neither] = [
    await verify(['--password-stdin'], `${password}\n`),
    await verify(['--password-stdin'], 'wrong'),
    await verify(['--code', '--password-stdin'], password),
    await verify([]),
  ];
  expect([right.exitCode, right.stderr]).toEqual([0, 'Verified, for five minutes.\n']);
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.not.stringContaining('Log in first')]);
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('together with --code')]);
  expect([neither.exitCode, neither.stderr]).toEqual([2, expect.stringContaining('--password-stdin')]);
});

/** Somebody with a second factor, and their recovery codes. */
async function withSecondFactor(username: string): Promise<{ CADENZA_TOKEN: string; codes: string[] }> {
  const admin = await app.as('admin');
  const user = { username, email: `${username}@example.com`, password, roles: ['builder'] };
  expect((await admin.post('/users', user)).status).toBe(201);
  const { body: tokens } = await app.anonymous.post('/auth/token', { username, password });
  const own = createClient(app.url, tokens.access_token);
  const { secret } = (await own.post('/users/me/totp')).body;
  const code = totpCode(secret);
  const { recovery_codes: codes } = (await own.post('/users/me/totp/confirm', { code })).body;
  return { CADENZA_TOKEN: tokens.access_token, codes };
}

test('without a terminal the code of a second factor comes from standard input', async () => {
  const { CADENZA_TOKEN, codes } = await withSecondFactor('mia');
  const user = here();
  const verify = (flags: string, stdin = '') =>
    user.run(['session', 'verify', ...flags.split(' ')], { stdin, env: { CADENZA_TOKEN } });
  const login = (flags: string, stdin = '') =>
    user.run(['login', '-u', 'mia', ...flags.split(' ')], { stdin });
  const verified = { exitCode: 0, stderr: 'Verified, for five minutes.\n' };
  expect(await verify('--password-stdin --code-stdin', `${password}\n${codes[0]}\n`)).toMatchObject(verified);
  expect(await verify('--code-stdin', `${codes[1]}\n`)).toMatchObject(verified);
  expect((await login('--password-stdin --code-stdin', `${password}\r\n${codes[2]}`)).exitCode).toBe(0);
  // The refusal says what to do.
  const refusals = [
    await verify('--password-stdin -o json', password),
    await login('--password-stdin -o json', password),
  ].map(({ exitCode, stderr }) => ({ exitCode, ...JSON.parse(stderr) }));
  const hint = expect.stringContaining('--password-stdin --code-stdin');
  expect(refusals).toMatchObject([
    { exitCode: 1, code: 'mfa_required', status: 403, methods: ['code', 'recovery_code'], hint },
    { exitCode: 4, code: 'mfa_required', hint },
  ]);
  const plain = await login('--password-stdin', password);
  expect(plain.stderr).toMatch(/^error: The log-in needs a second factor\.\nGive the code/);
  // What is asked for in vain.
  const usage = [
    await verify('--password-stdin --code-stdin', password),
    await verify('--password-stdin --code-stdin', `${password}\n${codes[3]}\nmore`),
    await verify('--code'),
    await login('--code-stdin', `${password}\n${codes[3]}`),
  ];
  expect(usage.map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2]);
  expect(usage.map(({ stderr }) => stderr)).toEqual([
    expect.stringContaining('two lines'),
    expect.stringContaining('two lines'),
    expect.stringContaining('use --code-stdin'),
    expect.stringContaining('without --password-stdin'),
  ]);
});

testUnless(noTerminal)('whoever has a second factor is asked for a code after the password', async () => {
  const { CADENZA_TOKEN, codes } = await withSecondFactor('eve');
  const verify = cliOnTerminal('session verify', { CADENZA_URL: app.url, CADENZA_TOKEN });
  const asks = (question: string) =>
    until(
      async () => verify.seen(),
      (text) => text.includes(question),
    );
  await asks('Password');
  verify.press(`${password}\r`);
  await asks('Code of the authenticator app');
  verify.press(`${codes[0]}\r`);
  expect([await verify.ended, verify.seen()]).toEqual([0, expect.stringContaining('Verified')]);
});

test('status and doctor show server, user and health', async () => {
  const user = here();
  await logIn(user);
  const [status, doctor] = await Promise.all([user.run(['status']), user.run(['doctor'])]);
  // This server has no Temporal.
  expect([status.exitCode, status.json()]).toEqual([
    0,
    { url: app.url, profile: 'default', user: 'ada', status: 'degraded', problems: expect.anything() },
  ]);
  const found = Object.fromEntries(doctor.json().map((row: any) => [row.check, row.status]));
  expect(found).toMatchObject({
    configuration: 'ok',
    server: 'ok',
    clock: 'ok',
    session: 'ok',
    versions: 'ok',
  });
  expect(found).toMatchObject({ database: 'ok', temporal: 'warn' });
});

test('doctor says what is wrong with a session beside what is right with the server', async () => {
  const env = { CADENZA_CLIENT_ID: 'nobody', CADENZA_CLIENT_SECRET: 'wrong' };
  const doctor = await here().run(['doctor'], { env });
  const found = Object.fromEntries(doctor.json().map((row: any) => [row.check, row.status]));
  expect([doctor.exitCode, found]).toMatchObject([3, { server: 'ok', session: 'error', versions: 'ok' }]);
});

test('api reaches any endpoint: bodies, pages with a bound, text, refusals', async () => {
  const user = here();
  await logIn(user);
  const common = 'type=api version=1.0.0 visibility=private configuration.endpoint=https://example.com';
  const agent = (name: string) => [
    'api',
    'post',
    '/agents',
    ...[`name=${name}`, ...common.split(' ')].flatMap((pair) => ['-i', pair]),
    '--jq',
    '.name',
  ];
  const made = await Promise.all([1, 2, 3, 4, 5].map((n) => user.run(agent(`agent-${n}`))));
  expect(made.map(({ stdout }) => stdout)).toEqual([1, 2, 3, 4, 5].map((n) => `agent-${n}\n`));
  const [page, all, tooMany, yaml, invalid, missing, text, deleted] = await Promise.all([
    user.run(['api', 'GET', '/agents?limit=2', '--jq', 'length']),
    user.run(['api', 'GET', '/agents?limit=2', '--paginate', '--jq', 'map(.name) | sort[]']),
    user.run(['api', 'GET', '/agents?limit=2', '--paginate', '--max-pages', '2', '-o', 'json']),
    user.run(['api', 'POST', '/agents', '-f', '-', '-o', 'json'], { stdin: 'name: x\ntype: api\n' }),
    user.run(['api', 'POST', '/agents', '-i', 'name=x', '-o', 'json']),
    user.run(['api', 'GET', '/runs/01990000-0000-7000-8000-000000000000', '-o', 'json']),
    user.run(['api', 'GET', '/docs']),
    user.run(['api', 'PUT', '/secrets/KEY', '-f', '-'], { stdin: '{"value": "s"}' }),
  ]);
  expect(page.stdout).toBe('2\n');
  expect(all.stdout.trim().split('\n')).toEqual([1, 2, 3, 4, 5].map((n) => `agent-${n}`));
  expect([tooMany.exitCode, JSON.parse(tooMany.stderr).code]).toEqual([1, 'too_many_pages']);
  for (const refused of [yaml, invalid]) {
    const problem = JSON.parse(refused.stderr);
    expect([refused.exitCode, refused.stdout, problem.status]).toEqual([1, '', 422]);
    expect(problem.errors.map((error: any) => error.pointer)).toContain('/version');
  }
  expect([missing.exitCode, JSON.parse(missing.stderr).code]).toEqual([1, 'not_found']);
  expect(text.stdout).toContain('<html');
  expect(deleted.exitCode).toBe(0);
  const gone = await user.run(['api', 'DELETE', '/secrets/KEY']);
  expect([gone.exitCode, gone.stdout]).toEqual([0, '']);
});

test('tables of tokens, machine clients and sessions say what waits for a second factor', async () => {
  const user = await app.createUser({ username: 'ivy', roles: ['builder'] });
  const own = cliUser({ CADENZA_URL: app.url, CADENZA_TOKEN: user.token });
  const admin = await cliAs(app, 'admin');
  expect((await own.run(['token', 'create', 'script', '--scope', 'runs:read'])).exitCode).toBe(0);
  expect((await own.run(['client', 'create', 'nightly'])).exitCode).toBe(0);
  const agent = await registeredAgent(await app.as(user), { execution_type: 'edge' });
  expect((await own.run(['worker', 'create-token', agent.id, 'plant 7'])).exitCode).toBe(0);
  const lists = () =>
    Promise.all([
      own.run(['token', 'list', '-o', 'table']),
      own.run(['client', 'list', '-o', 'table']),
      own.run(['session', 'list', '-o', 'table']),
      admin.run(['token', 'list', '--user', 'ivy', '-o', 'table']),
      admin.run(['user', 'clients', 'ivy', '-o', 'table']),
      admin.run(['session', 'list', '--user', 'ivy', '-o', 'table']),
      admin.run(['worker', 'tokens', agent.id, '-o', 'table']),
    ]);
  for (const { stdout } of await lists()) {
    expect(stdout).toContain('WAITS FOR');
    expect(stdout).not.toContain('second factor');
  }
  await limitSessions(app.orm.em.fork(), [user.id], ['builder']);
  for (const { stdout } of await lists()) expect(stdout).toContain('second factor');
});
