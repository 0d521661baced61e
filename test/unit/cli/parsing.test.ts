/** Command lines that are wrong or need no server: exit codes, errors as JSON, completion, jq. */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';

import { valueOf } from '../../../cli/core/form.ts';
import { secondsIn } from '../../../cli/core/flags.ts';
import { readFolder } from '../../../cli/core/folder.ts';
import { cliUser } from '../../support/cli.ts';

const away = { CADENZA_URL: 'http://127.0.0.1:2' };
const user = cliUser(away);

test('a wrong command line is 2, on stderr, and JSON with -o json', async () => {
  const [unknown, missing, asJson, flag] = await Promise.all([
    user.run(['lgoin']),
    user.run(['api', 'GET']),
    user.run(['api', 'GET', '-o', 'json']),
    user.run(['whoami', '--nonsense']),
  ]);
  expect([unknown, missing, asJson, flag].map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2]);
  expect(unknown.stderr).toContain(
    'error: There is no command lgoin, did you mean login?\nSee: cadenza --help\n',
  );
  expect(missing.stdout).toBe('');
  expect(flag.stderr).toContain('error: There is no flag --nonsense');
  expect((await user.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(JSON.parse(asJson.stderr)).toEqual({
    code: 'usage',
    detail: 'PATH is missing.',
    errors: [],
    hint: 'See: cadenza api --help',
  });
});

test.each([
  ['--workflow, --every', 'run', 'retry', 'ID', '--revision', '2', '--workflow', 'pay', '--every'],
  ['--tag', 'run', 'cancel', 'ID', '--tag', 'nightly'],
  ['--run-tag', 'run', 'suspend', 'ID', 'OTHER', '--run-tag', 'nightly'],
  ['--wait', 'run', 'start', 'pay', '--watch', '--wait', '5'],
  ['--wait', 'agent', 'invoke', 'pay', '--watch', '--wait', '5'],
  ['--source', 'event', 'send', '--file', '-', '--source', 'urn:till'],
  ['--limit', 'secret', 'list', '--all', '--limit', '3'],
  ['--status', 'run', 'tasks', 'ID', '--status', 'faulted'],
  ['--max-pages', 'api', 'GET', '/runs', '--max-pages', '3'],
  ['--password-stdin', 'login', '--password-stdin'],
  ['--jq', 'usage', '--csv', '--jq', '.'],
  ['--limit', 'usage', '--csv', '--limit', '3'],
  ['--all', 'usage', '--csv', '--all'],
  ['--digest', 'market', 'approve', 'ID'],
])('%s is refused by name where it would be ignored, or is missing', async (named, ...args) => {
  const { exitCode, stderr, stdout } = await user.run(args, { env: { CADENZA_TOKEN: 'x' } });
  expect([exitCode, stderr, stdout]).toEqual([2, expect.stringContaining(named), '']);
});

test('a server that is away is 1 and named; without a session it is 4', async () => {
  const [status, whoami] = await Promise.all([user.run(['status', '-o', 'json']), user.run(['whoami'])]);
  expect([status.exitCode, JSON.parse(status.stderr).code]).toEqual([1, 'server_unreachable']);
  expect(JSON.parse(status.stderr).detail).toContain('http://127.0.0.1:2: ECONNREFUSED');
  expect([whoami.exitCode, whoami.stderr]).toEqual([4, expect.stringContaining('cadenza login')]);
});

test('doctor says that the server is away and what to do, and exits with 3', async () => {
  const { exitCode, json } = await user.run(['doctor']);
  expect(exitCode).toBe(3);
  expect(json()).toContainEqual({
    check: 'server',
    status: 'error',
    detail: expect.stringContaining('npm start'),
  });
});

test('expr is our jq: results a line each, errors with their place', async () => {
  const [texts, raw, wrong, failed] = await Promise.all([
    user.run(['expr', '.a[] | . + $more', '--arg', 'more=!'], { stdin: 'a: [x, y]' }),
    user.run(['expr', '-n', '-r', '"a b"']),
    user.run(['expr', '-n', '.a[']),
    user.run(['expr', '-n', '1 + "a"']),
  ]);
  expect(texts.stdout).toBe('"x!"\n"y!"\n');
  expect(raw.stdout).toBe('a b\n');
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('line 1, column')]);
  expect(failed.exitCode).toBe(1);
});

test('a folder that is none, or too large, is named before anything is sent', async () => {
  const cwd = dirname(dirname(user.configFile));
  mkdirSync(`${cwd}/large/agents`, { recursive: true });
  for (let n = 0; n < 201; n++) writeFileSync(`${cwd}/large/agents/a${n}.yaml`, 'type: api\n');
  writeFileSync(`${cwd}/file`, '');
  mkdirSync(`${cwd}/My Set/agents`, { recursive: true });
  writeFileSync(`${cwd}/My Set/agents/a.yaml`, 'type: api\n');
  expect(await readFolder(`${cwd}/My Set`)).toMatchObject({ set: 'my-set', isNamed: false });
  const unnamed = await user.run(['apply', '-f', 'My Set', '--prune'], { cwd });
  expect([unnamed.exitCode, unnamed.stderr]).toEqual([2, expect.stringContaining('To archive, name')]);
  // Also the name that the folder has, if somebody gives it.
  const named = await user.run(['apply', '-f', 'My Set', '--set', 'my-set', '--prune'], { cwd });
  expect([named.exitCode, named.stderr]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
  const [large, none, watched] = await Promise.all([
    user.run(['diff', '-f', 'large', '-o', 'json'], { cwd }),
    user.run(['diff', '-f', 'file'], { cwd }),
    user.run(['dev', 'missing'], { cwd, env: { CADENZA_TOKEN: 'x' } }),
  ]);
  expect([large.exitCode, JSON.parse(large.stderr)]).toMatchObject([
    1,
    { code: 'set_too_large', detail: expect.stringContaining('201 files') },
  ]);
  for (const { exitCode, stderr } of [none, watched])
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('There is no folder')]);
});

test('completion proposes commands and flags, and each shell has a script', async () => {
  const [commands, flags, ...scripts] = await Promise.all([
    user.run(['__complete', '--', 'co']),
    user.run(['__complete', '--', 'api', '--pag']),
    ...['bash', 'zsh', 'fish'].map((shell) => user.run(['completion', shell])),
  ]);
  expect(commands.stdout.split('\n').map((line) => line.split('\t')[0])).toEqual([
    'config',
    'completion',
    '',
  ]);
  expect(flags.stdout).toMatch(/^--paginate\tFollow/);
  for (const { exitCode, stdout } of scripts)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('__complete')]);
  expect((await user.run(['completion', 'tcsh'])).exitCode).toBe(2);
});

test('profiles: only the owner can read the file; another server ends the session there', async () => {
  const own = cliUser();
  expect((await own.run(['config', 'set', 'url', 'http://127.0.0.1:2/'])).exitCode).toBe(0);
  expect(statSync(own.configFile).mode & 0o777).toBe(0o600);
  const configuration = JSON.parse(readFileSync(own.configFile, 'utf8'));
  expect(configuration.profiles.default).toEqual({ url: 'http://127.0.0.1:2' });
  configuration.profiles.default.access_token = 'secret';
  writeFileSync(own.configFile, JSON.stringify(configuration));
  const listed = await own.run(['config', 'list', '-o', 'json']);
  expect(listed.json()).toEqual([
    { name: 'default', current: true, url: 'http://127.0.0.1:2', username: null, logged_in: true },
  ]);
  expect(listed.stdout).not.toContain('secret');
  expect((await own.run(['config', 'use', 'other'])).exitCode).toBe(1);
  await own.run(['config', 'set', 'url', 'example.com', '--profile', 'default']);
  expect(JSON.parse(readFileSync(own.configFile, 'utf8')).profiles.default).toEqual({
    url: 'https://example.com',
  });
});

test('a configuration that cannot be read is named, and an open one is found by doctor', async () => {
  const own = cliUser(away);
  mkdirSync(dirname(own.configFile), { recursive: true });
  writeFileSync(own.configFile, '{');
  chmodSync(own.configFile, 0o644);
  const broken = await own.run(['status']);
  expect([broken.exitCode, broken.stderr]).toEqual([1, expect.stringContaining(own.configFile)]);
  writeFileSync(own.configFile, '{"current":"default","profiles":{}}');
  expect((await own.run(['doctor'])).json()).toContainEqual({
    check: 'configuration',
    status: 'error',
    detail: expect.stringContaining('chmod 600'),
  });
});

test('a password is never asked for without a terminal', async () => {
  const { exitCode, stderr } = await user.run(['login', '-u', 'ada']);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('terminal')]);
});

test('a token or header that cannot be sent is never printed, and other schemes are refused', async () => {
  const secret = 'very-secret';
  const header = ['api', 'GET', '/runs', '--header', `x-key: ${secret}\nb`];
  const [token, sent, scheme] = await Promise.all([
    user.run(['whoami'], { env: { CADENZA_TOKEN: `${secret}\nb` } }),
    user.run(header, { env: { CADENZA_TOKEN: 'x' } }),
    user.run(['status'], { env: { CADENZA_URL: 'ftp://x' } }),
  ]);
  expect([token.exitCode, token.stderr]).toEqual([2, expect.stringContaining('CADENZA_TOKEN')]);
  expect([sent.exitCode, sent.stderr]).toEqual([2, expect.stringContaining('x-key')]);
  for (const { stderr } of [token, sent]) expect(stderr).not.toMatch(/very-secret|Unexpected/);
  expect([scheme.exitCode, scheme.stderr]).toEqual([2, expect.stringContaining('http:// or https://')]);
});

test('help shows the value of each flag that takes one, and what is required', async () => {
  const [raise, create] = await Promise.all([
    user.run(['budget', 'raise', '--help']),
    user.run(['user', 'create', '--help']),
  ]);
  expect(raise.stdout).toMatch(/\[--cost\] +By so many US dollars \[USD\]\n/);
  expect(raise.stdout).toMatch(/\[--lasting\] +For good\n/);
  expect(create.stdout).toMatch(/\[--email\] +E-mail address; required \[ADDRESS\]\n/);
});

test('values of -i follow the schema; times have units', () => {
  expect(valueOf('12', { type: 'string' })).toBe('12');
  expect(valueOf('12', { type: 'integer' })).toBe(12);
  expect(valueOf('true', undefined)).toBe(true);
  expect(valueOf('12', { enum: ['12', '13'] })).toBe('12');
  expect(valueOf('Otters', undefined)).toBe('Otters');
  expect(valueOf('{name}', undefined, () => 'YAML')).toBe('{name}');
  expect(valueOf('[a, b]', { type: 'array' }, () => ['a', 'b'])).toEqual(['a', 'b']);
  expect([secondsIn('90'), secondsIn('5m'), secondsIn('1h')]).toEqual([90, 300, 3_600]);
  expect(() => secondsIn('soon')).toThrow('no time');
});
