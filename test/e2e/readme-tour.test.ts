/**
 * The five-minute tour of the README, typed line by line into bash, against a Cadenza started by `npm start`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ownPort } from '../support/machine.ts';
import { skip, testUnless } from '../support/outside.ts';
import { pythonWithA2A } from '../support/python-client.ts';
import { readmeCommands } from '../support/readme.ts';
import { commandsIn, type } from '../support/shell.ts';
import { upFolder, type Up, type UpFolder } from '../support/up-process.ts';

const root = join(import.meta.dirname, '../..');
const python = await pythonWithA2A('1.3.0');
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);
const tour = testUnless(missing.length > 0 ? `no ${missing.join(', ')}` : undefined);

let folder: UpFolder;
let up: Up;
let reader: string;

beforeAll(() => {
  folder = upFolder();
  up = folder.start({}, { program: join(root, 'dev/start.cjs') });
  // The files of the clone that the reader's folder has.
  reader = mkdtempSync(join(tmpdir(), 'cadenza-tour-'));
  for (const part of ['examples', 'cli']) symlinkSync(join(root, part), join(reader, part));
  symlinkSync(folder.dataDir, join(reader, '.cadenza'));
});
afterAll(async () => {
  await folder.clean();
  rmSync(reader, { recursive: true, force: true });
});

tour('every line of the tour works, and the run ends as the README says', async () => {
  const url = await up.ready();
  const writer = `http://127.0.0.1:${await ownPort()}`;
  const address = 'export CADENZA=http://127.0.0.1:3000 WRITER=http://127.0.0.1:4000';
  const lines = readmeCommands('Five-minute tour');
  expect(lines[0]).toBe(address);
  const typed = await type([`export CADENZA=${url} WRITER=${writer}`, ...lines.slice(1)], reader);

  expect(typed.filter(({ status }) => status !== 0)).toEqual([]);
  const printed = (part: string): any => {
    const found = typed.filter(({ line }) => line.includes(part));
    expect([part, found.length]).toEqual([part, 1]);
    // The agent in the background prints when it listens, perhaps while a later line is typed.
    return found[0]?.output.replaceAll(/^writer agent.*\n/gm, '') ?? '';
  };
  expect(JSON.parse(printed('/users/me'))).toEqual({ username: 'admin', roles: ['admin'] });
  for (const name of ['writer-draft', 'writer-publish'])
    expect(JSON.parse(printed(`"${name}"`))).toMatchObject({ name, status: 'active' });
  expect(JSON.parse(printed('runnable'))).toEqual({
    name: 'Review and publish',
    valid: true,
    runnable: true,
    problems: [],
  });
  expect(JSON.parse(printed('{title'))).toMatchObject({
    title: 'Publish the post about Otters?',
    subject: 'Otters: three things that everybody should know.',
    status: 'open',
  });
  expect(JSON.parse(printed('waiting_on'))).toMatchObject({
    status: 'waiting',
    waiting_on: [{ kind: 'human', task: '/do/1/review' }],
  });
  expect(JSON.parse(printed('Lovely'))).toMatchObject({ decision: 'approve', comment: 'Lovely' });
  expect(JSON.parse(printed('Too late'))).toMatchObject({ status: 409, code: 'already_decided' });
  expect(printed('grep ^event').trim().split('\n').at(-1)).toBe(
    'event: io.serverlessworkflow.workflow.completed.v1',
  );
  expect(JSON.parse(printed('{status, output}'))).toEqual({
    status: 'completed',
    output: { published: true, url: 'https://example.com/posts/Otters' },
  });
  const log = printed('/logs').trim().split('\n');
  expect(log.map((line: string) => Number(line.split(' ')[0]))).toEqual(
    log.map((_: string, n: number) => n + 1),
  );
  expect(log.at(-1)).toMatch(/Run completed$/);
  const inUi = printed('.temporal.url').trim();
  expect((await fetch(inUi)).status).toBe(200);
  // The requests of the UI's page that show encrypted values.
  const { Codec } = (await (await fetch(new URL('/api/v1/settings', inUi))).json()) as {
    Codec: { Endpoint: string };
  };
  const decrypted = await fetch(`${Codec.Endpoint}/decode`, {
    method: 'POST',
    headers: { origin: new URL(inUi).origin, 'content-type': 'application/json', 'x-namespace': 'default' },
    body: '{"payloads":[]}',
  });
  expect([decrypted.status, decrypted.headers.get('access-control-allow-origin')]).toEqual([
    200,
    new URL(inUi).origin,
  ]);
});

tour('every line of the command line works, and the run completes', async () => {
  const url = await up.ready();
  const own = [`export CADENZA=${url} XDG_CONFIG_HOME=${reader}`];
  const typed = await type([...own, ...readmeCommands('Command line')], reader);
  expect(typed.filter(({ status }) => status !== 0)).toEqual([]);
  const printed = (part: string): string => typed.find(({ line }) => line.includes(part))?.output ?? '';
  expect(printed('cadenza login')).toContain(`Logged in at ${url} as admin`);
  expect(printed('workflow validate')).toContain('Valid.');
  expect(printed('task decide')).toContain('"comment": "Yes"');
  expect(printed('run watch')).toMatch(/Run \S+ completed$/m);
});

const withoutGrpc = 'skipped' in python ? python.skipped : python.withoutGrpc;
if ('skipped' in python) skip('the lines of the tour of A2A with the Python client', python.skipped);
else if (withoutGrpc !== undefined) skip('the lines of the tour of A2A with gRPC', withoutGrpc);

tour('every line of the tour of A2A works: curl, the Python client, the JavaScript client', async () => {
  const url = await up.ready();
  // What the two lines that install something would install.
  if (!('skipped' in python)) symlinkSync(join(python.python, '../..'), join(reader, '.venv'));
  symlinkSync(join(root, 'node_modules'), join(reader, 'node_modules'));
  const parts = readFileSync(join(root, 'docs/a2a.md'), 'utf8')
    .split(/^## /m)
    .filter((part) => /^(A tour|gRPC)\n/.test(part));
  const commands = parts.flatMap((part) => commandsIn(part, 'sh'));
  expect(commands[0]).toBe('BASE=http://127.0.0.1:3000');
  const installs = commands.filter((command) => command.includes('pip install'));
  expect(installs).toHaveLength(2);
  const skips = (command: string): boolean =>
    ('skipped' in python && command.includes('.venv/bin/python')) ||
    (withoutGrpc !== undefined && command.includes('python greet_grpc.py'));
  const runnable = commands.slice(1).filter((command) => !installs.includes(command) && !skips(command));
  const typed = await type(
    [`BASE=${url}`, `PATH="${join(root, 'node_modules/.bin')}:$PATH"`, ...runnable],
    reader,
  );

  expect(typed.filter(({ status }) => status !== 0)).toEqual([]);
  const printed = typed.filter(({ output }) => output !== '').map(({ output }) => output);
  const [card, question, done, stream, ...clients] = printed;
  expect(JSON.parse(card ?? '')).toMatchObject({ name: 'Greeter', signatures: [{}] });
  expect(JSON.parse(question ?? '')).toMatchObject({
    status: {
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'May I greet Ada?\nDecisions: approve, reject.' }, {}] },
    },
  });
  expect(JSON.parse(done ?? '')).toMatchObject({
    task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'Hello Ada' }] }] },
  });
  expect(stream).toMatch(/^id: \d+\ndata: \{"jsonrpc":"2.0","id":1,"result":\{"task":/);
  expect(stream).toContain('May I greet Grace?');
  const conversationWith = (name: string): string =>
    `May I greet ${name}?\nDecisions: approve, reject.\nHello ${name}\n`;
  expect(clients.slice(0, 'skipped' in python ? 1 : 2)).toEqual([
    ...('skipped' in python ? [] : [conversationWith('Barbara')]),
    conversationWith('Edsger'),
  ]);
  if (withoutGrpc === undefined) expect(clients.at(-1)).toMatch(/^task\n(status_update\n)*$/);
});

test('the README names the real commands', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  // npm sends a SIGTERM only to the shell that runs the script, so that shell has to be Cadenza itself.
  expect(scripts['start']).toBe('exec node dev/start.cjs');
  const builtIn = ['ci', 'install', 'start', 'test', 'run'];
  const named = [...readme.matchAll(/npm (run )?([\w:-]+)/g)].map((match) => match[2] ?? '');
  expect(named.filter((name) => !builtIn.includes(name) && !(name in scripts))).toEqual([]);
});

test('the links of the README lead to files', () => {
  const documents = ['docs', 'docs/adr'].flatMap((path) =>
    readdirSync(join(root, path)).flatMap((name) => (name.endsWith('.md') ? [join(path, name)] : [])),
  );
  for (const file of ['README.md', 'CONTRIBUTING.md', 'examples/README.md', ...documents]) {
    const links = [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
      (match) => join(root, file, '..', match[1] ?? ''),
    );
    expect(links.filter((link) => spawnSync('test', ['-e', link]).status !== 0)).toEqual([]);
  }
});
