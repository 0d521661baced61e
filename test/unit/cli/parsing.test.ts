/** Command lines that are wrong or need no server: exit codes, errors as JSON, completion, jq. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

import { valueOf } from '../../../cli/core/form.ts';
import { secondsIn } from '../../../cli/core/flags.ts';
import { readFolder } from '../../../cli/core/folder.ts';
import { serverUrl } from '../../../cli/core/session.ts';
import { cliUser } from '../../support/cli.ts';
import { startServer } from '../../support/http-server.ts';

const away = { CADENZA_URL: 'http://127.0.0.1:2' };
const user = cliUser(away);

test('a wrong command line is 2, on stderr, and JSON with -o json', async () => {
  const [unknown, missing, asJson, flag] = await Promise.all([
    user.run(['lgoin']),
    user.run(['api', 'GET']),
    user.run(['api', 'GET', '-o', 'json']),
    user.run(['whoami', '--url']),
  ]);
  expect([unknown, missing, asJson, flag].map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2]);
  expect(unknown.stderr).toContain(
    'error: There is no command lgoin, did you mean login?\nSee: cadenza --help\n',
  );
  expect(missing.stdout).toBe('');
  // Only a name that is near is proposed.
  expect(flag.stderr).toContain('error: There is no flag --url.\n');
  expect((await user.run(['whoami', '--profil', 'a'])).stderr).toContain(
    'There is no flag --profil, did you mean --profile?',
  );
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

test('a server that is away is 3 for status, else 1 and named; without a session it is 4', async () => {
  const env = { CADENZA_TOKEN: 'x' };
  const [status, table, list, whoami] = await Promise.all([
    user.run(['status', '-o', 'json']),
    user.run(['status', '-o', 'table'], { env }),
    user.run(['run', 'list', '-o', 'json'], { env }),
    user.run(['whoami']),
  ]);
  expect([status.exitCode, status.json(), status.stderr]).toEqual([
    3,
    {
      url: 'http://127.0.0.1:2',
      profile: 'default',
      user: null,
      status: 'down',
      problems: ['Cannot reach http://127.0.0.1:2: ECONNREFUSED. Is it running?'],
    },
    'Look closer: cadenza doctor\n',
  ]);
  expect([table.exitCode, table.stdout]).toEqual([3, expect.stringMatching(/user +unknown\nhealth +down\n/)]);
  expect([list.exitCode, JSON.parse(list.stderr).code]).toEqual([1, 'server_unreachable']);
  expect(JSON.parse(list.stderr).detail).toContain('http://127.0.0.1:2: ECONNREFUSED');
  expect([whoami.exitCode, whoami.stderr]).toEqual([4, expect.stringContaining('cadenza login')]);
});

test('a server for which only a proxy answers is 3 for status, whoever asks', async () => {
  const proxy = await startServer(({ path }, response) => {
    response.writeHead(path === '/auth/token' ? 503 : 502, { 'content-type': 'application/json' });
    response.end('{"error": "no upstream"}');
  });
  const client = { CADENZA_CLIENT_ID: 'ci', CADENZA_CLIENT_SECRET: 's' };
  const doctored = await user.run(['doctor'], { env: { CADENZA_URL: proxy.url, ...client } });
  expect([doctored.exitCode, doctored.json()[1]]).toEqual([
    3,
    expect.objectContaining({ check: 'server', detail: expect.stringContaining('status 502') }),
  ]);
  for (const env of [client, { CADENZA_TOKEN: 'x' }, {}]) {
    const status = await user.run(['status'], { env: { CADENZA_URL: proxy.url, ...env } });
    expect([env, status.exitCode, status.json(), status.stderr]).toEqual([
      env,
      3,
      expect.objectContaining({ user: null, status: 'down', problems: [expect.stringContaining('502')] }),
      'Look closer: cadenza doctor\n',
    ]);
  }
  await proxy.close();
});

test('doctor says that the server is away and what to do, and exits with 3', async () => {
  const { exitCode, json } = await user.run(['doctor']);
  expect(exitCode).toBe(3);
  const [, server] = json();
  expect(server).toMatchObject({ check: 'server', status: 'error' });
  expect(server.detail).toMatch(/ECONNREFUSED\. Is it running\? Start it with npm start/);
  expect((await user.run(['run', 'list'], { env: { CADENZA_TOKEN: 'x' } })).stderr).toContain(
    '\nLook closer: cadenza doctor\n',
  );
});

test('half a machine client is refused, whoever is logged in, unless there is a token', async () => {
  const [id, secret] = [{ CADENZA_CLIENT_ID: 'ci' }, { CADENZA_CLIENT_SECRET: 's' }];
  const [noSecret, noId, token] = await Promise.all([
    user.run(['run', 'list'], { env: id }),
    user.run(['status'], { env: secret }),
    user.run(['run', 'list', '-o', 'json'], { env: { ...id, CADENZA_TOKEN: 'x' } }),
  ]);
  expect([noSecret.exitCode, noSecret.stderr]).toEqual([
    2,
    'error: CADENZA_CLIENT_ID is set, but CADENZA_CLIENT_SECRET is missing: set both, or neither.\n',
  ]);
  expect([noId.exitCode, noId.stderr]).toEqual([2, expect.stringContaining('CADENZA_CLIENT_ID is missing')]);
  expect(JSON.parse(token.stderr).code).toBe('server_unreachable');
});

test('flags before the command are refused with the command line that was meant', async () => {
  const [profile, quoted, help] = await Promise.all([
    user.run(['--profile', 'nix', 'run', 'list']),
    user.run(['-q', '--jq', '.[] | .id', 'api', 'GET', '/runs']),
    user.run(['--help']),
  ]);
  expect([profile.exitCode, profile.stderr]).toEqual([
    2,
    'error: Flags come after the command: cadenza run list --profile nix\n',
  ]);
  expect(quoted.stderr).toContain(": cadenza api GET /runs -q --jq '.[] | .id'\n");
  // A shell that gets the line hands over the same words, and runs nothing of them.
  const filter = '$x "`false`" \\ it\'s $(false)';
  const { stderr } = await user.run(['--jq', filter, 'run', 'list']);
  const [, line = ''] = /: cadenza (.*)\n$/s.exec(stderr) ?? [];
  const shell = spawnSync('sh', ['-c', `printf '%s\n' ${line}`], { encoding: 'utf8' });
  expect(shell.stdout).toBe(['run', 'list', '--jq', filter, ''].join('\n'));
  expect([help.exitCode, help.stderr]).toEqual([0, '']);
});

test('a server that is not Cadenza is named, with what it answers', async () => {
  const page = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html></html>');
  });
  const there = cliUser({ CADENZA_URL: page.url, CADENZA_TOKEN: 'x' });
  const [list, get, removed, paged, login, doctor] = await Promise.all([
    there.run(['agent', 'list', '-o', 'json']),
    there.run(['run', 'get', '01990000-0000-7000-8000-000000000000']),
    there.run(['secret', 'delete', 'KEY', '--yes']),
    there.run(['api', 'GET', '/agents', '--paginate']),
    there.run(['login']),
    there.run(['doctor']),
  ]);
  await page.close();
  expect([list.exitCode, list.stdout, JSON.parse(list.stderr)]).toMatchObject([
    1,
    '',
    {
      code: 'not_json',
      detail:
        `${page.url}/agents answers with text/html; charset=utf-8 instead of JSON: ` +
        'is this the address of Cadenza?',
    },
  ]);
  for (const { exitCode, stdout, stderr } of [get, removed])
    expect([exitCode, stdout, stderr]).toEqual([1, '', expect.stringContaining('instead of JSON')]);
  expect([paged.exitCode, paged.stderr]).toEqual([2, expect.stringContaining('/agents is no list')]);
  expect([login.exitCode, login.stderr]).toEqual([1, expect.stringContaining('is no Cadenza')]);
  expect([doctor.exitCode, doctor.stdout]).toEqual([3, expect.stringContaining('answers with text/html')]);
});

test('a worker whose program cannot be executed is refused at once', async () => {
  const cwd = folderWith({ 'program.sh': '' });
  const work = (program: string) => user.run(['worker', 'run', 'adder', '--', program], { cwd });
  const [unknown, missing, denied, none] = await Promise.all([
    work('no-such-program'),
    work('./missing.sh'),
    work('./program.sh'),
    user.run(['worker', 'run', 'adder']),
  ]);
  expect(unknown.stderr).toContain('error: There is no program no-such-program.');
  expect(missing.stderr).toContain('error: There is no program ./missing.sh.');
  expect(denied.stderr).toContain('error: You may not execute ./program.sh.');
  expect(none.stderr).toContain('AGENT -- COMMAND is missing');
  for (const { exitCode } of [unknown, missing, denied, none]) expect(exitCode).toBe(2);
});

test('a folder of PATH that cannot be searched does not hide the program in the next one', async () => {
  const tooLong = `/${'a'.repeat(300)}`;
  const PATH = `${tooLong}:${process.env['PATH']}`;
  const work = (program: string) => user.run(['worker', 'run', 'adder', '--', program], { env: { PATH } });
  const [found, missing] = await Promise.all([work('cat'), work(tooLong)]);
  // Only the log-in is missing.
  expect([found.exitCode, found.stderr]).toEqual([4, expect.not.stringContaining('no program')]);
  expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining('There is no program')]);
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

const SAY_HELLO =
  'document: { dsl: 1.0.3, namespace: a, name: greet, version: 1.0.0 }\ndo: [{ a: { set: { b: 1 } } }]\n';

/** A folder of resources with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(dirname(dirname(dirname(user.configFile))), 'set-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

test('what cadenza.yaml says in vain is refused, each with its place', async () => {
  const folder = folderWith({
    'workflows/greet.yaml': SAY_HELLO,
    'workflows/other.yaml': 'do: [{ a: { set: { b: 1 } } }]\n',
    'cadenza.yaml':
      'set: [x]\nteam: 5\nvisiblity: public\nvisibility: all\nworkflows:\n' +
      '  greet: { tagz: [a], budget: { max_tokens: 1 } }\n  gret: {}\n  other: 3\n',
  });
  const { exitCode, stderr, stdout } = await user.run(['apply', '-f', folder]);
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr.replaceAll(folder, '').split('\n')).toEqual([
    'error: Nothing was sent: the files have mistakes.',
    '  /cadenza.yaml:3:1#/visiblity: cadenza.yaml has no property "visiblity", did you mean "visibility"?',
    '  /cadenza.yaml:1:1#/set: "set" must be text',
    '  /cadenza.yaml:2:1#/team: "team" must be text, such as "finance"',
    '  /cadenza.yaml:4:1#/visibility: "visibility" must be one of private, public',
    '  /cadenza.yaml:6:12#/workflows/greet/tagz: "greet" has no property "tagz", did you mean "tags"?',
    '  /cadenza.yaml:8:3#/workflows/other: "other" must be an object with fields',
    '  /cadenza.yaml:7:3#/workflows/gret: there is no workflow "gret" in workflows/, did you mean "greet"?',
    '',
  ]);
  writeFileSync(join(folder, 'cadenza.yaml'), 'set: demo\nteam:\nworkflows:\n  other: { tags: [a] }\n');
  expect(await readFolder(folder)).toMatchObject({
    set: 'demo',
    team: undefined,
    files: [{ resource: { name: 'greet' } }, { resource: { name: 'other', tags: ['a'] } }],
  });
  renameSync(join(folder, 'cadenza.yaml'), join(folder, 'cadenza.yml'));
  await expect(readFolder(folder)).rejects.toThrow('its name must be cadenza.yaml');
});

test('a folder without resources is refused with what is probably meant; --prune archives all', async () => {
  const wrong = folderWith({ 'cadenza.yaml': 'set: demo\n', 'workflow/greet.yaml': SAY_HELLO });
  const empty = folderWith({ 'cadenza.yaml': 'set: demo\n', 'src/greet.yaml': SAY_HELLO });
  const [apply, prune, diff, pruneAll] = await Promise.all([
    user.run(['apply', '-f', wrong]),
    user.run(['apply', '-f', wrong, '--prune', '--yes']),
    user.run(['diff', '-f', empty]),
    user.run(['diff', '-f', empty, '--prune']),
  ]);
  for (const { exitCode, stderr } of [apply, prune])
    expect([exitCode, stderr]).toEqual([
      1,
      `error: There are no resources in ${wrong}: they are files in ` +
        `agents/, workflows/, webhooks/, hooks/, event-sources/.\n` +
        `${wrong}/workflow/ is not read, did you mean workflows/?\n`,
    ]);
  expect([diff.exitCode, diff.stderr]).toEqual([1, expect.stringContaining('apply --prune')]);
  expect(pruneAll.stderr).toContain('ECONNREFUSED');
  const partly = folderWith({ 'workflows/greet.yaml': SAY_HELLO, 'Agent/a.yaml': 'type: api\n' });
  expect((await user.run(['apply', '-f', partly])).stderr).toContain(
    `warning: ${partly}/Agent/ is not read, did you mean agents/?`,
  );
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
  const unlikely = await own.run(['config', 'set', 'url', 'notaurl']);
  expect([unlikely.exitCode, unlikely.stderr]).toEqual([
    2,
    'error: notaurl is no address of a server. If it is its name: http://notaurl or https://notaurl\n',
  ]);
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
  const [raise, create, server, reset, cancel, all] = await Promise.all(
    ['budget raise', 'user create', 'server', 'server reset-admin', 'run cancel', ''].map((words) =>
      user.run([...words.split(' ').filter(Boolean), '--help']),
    ),
  );
  // Arguments that may be absent too.
  expect(server?.stdout).toContain('  cadenza server reset-admin [USERNAME]\n');
  expect(reset?.stdout).toMatch(/^USAGE\n  cadenza server reset-admin \[USERNAME\]\n/);
  expect(cancel?.stdout).toMatch(/^USAGE\n  cadenza run cancel \[RUN\]\.\.\.\n/);
  expect(all?.stdout).toContain('  cadenza login [URL]\n');
  expect(raise?.stdout).toMatch(/\[--cost\] +By so many US dollars \[USD\]\n/);
  expect(raise?.stdout).toMatch(/\[--lasting\] +For good\n/);
  expect(create?.stdout).toMatch(/\[--email\] +E-mail address; required \[ADDRESS\]\n/);
});

test('without a scheme, an address is http on this machine, else https', () => {
  expect(['127.0.0.1:3000', 'localhost:3000/api/', '[::1]:3000', 'example.com'].map(serverUrl)).toEqual([
    'http://127.0.0.1:3000',
    'http://localhost:3000/api',
    'http://[::1]:3000',
    'https://example.com',
  ]);
  expect(serverUrl('https://localhost')).toBe('https://localhost');
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
  expect(secondsIn('2d')).toBe(172_800);
  expect(() => secondsIn('5y')).toThrow('5y is no time, such as 30s, 5m, 1h or 30d');
});
