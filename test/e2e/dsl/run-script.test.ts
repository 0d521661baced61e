/** `run: script` end to end: what it returns, its errors, secrets, its log, and what nothing waits for. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '../../support/app.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let server: TestServer;

beforeAll(async () => {
  server = await startServer(({ headers, path }, response) => {
    if (path === '/large.js') return void response.end(`//${' '.repeat(1024 * 1024)}`);
    if (headers.authorization !== 'Bearer script-token-1') return void response.writeHead(401).end();
    response.end(`console.log('fetched', process.argv[2])`);
  });
  platform = await startTestPlatform({ env: { SCRIPT_SECONDS: '60' } });
  builder = await platform.as('builder');
});
afterAll(async () => {
  await server.close();
  await platform.close();
});

const scripted = (script: object, more: object = {}) => ({
  do: [{ compute: { run: { script: { language: 'js', ...script }, ...more } } }],
});

const run = (definition: unknown, input: Record<string, unknown> = {}): Promise<RunRecord> =>
  startRun(builder, definition, input, 30);

test('a script gets texts from expressions, and its code is passed on as written', async () => {
  const definition = scripted({
    code: `const [, , name] = process.argv; console.log(\`Hello \${name}, \${process.env.rows} rows\`)`,
    arguments: ['${ .name }'],
    environment: { rows: '${ .rows | length }' },
  });
  expect(await run(definition, { name: '${ $secrets }', rows: [1, 2] })).toMatchObject({
    status: 'completed',
    output: 'Hello ${ $secrets }, 2 rows\n',
  });
});

test('the output is what the task returns', async () => {
  const code = `console.log('out'); console.error('err'); process.exit(4)`;
  const outputOf = async (returned: string): Promise<unknown> =>
    (await run(scripted({ code }, { return: returned }))).output;
  const [code4, all, stderr] = await Promise.all(['code', 'all', 'stderr'].map(outputOf));
  expect(code4).toBe(4);
  expect(all).toEqual({ code: 4, stdout: 'out\n', stderr: 'err\n' });
  expect(stderr).toBe('err\n');
  const quiet = await run(scripted({ code: `console.log('out'); console.error('why')` }, { return: 'none' }));
  expect(quiet).toMatchObject({ status: 'completed', output: null });
  const messages = quiet['logs'].map(({ message }: { message: string }) => message);
  expect(messages).toEqual(
    expect.arrayContaining(['compute wrote to stdout: out', 'compute wrote to stderr: why']),
  );
});

test('a script that fails is a runtime error that catch can handle', async () => {
  const failing = scripted({ code: `console.error('reading'); throw new Error('no such row')` });
  expect(await run(failing)).toMatchObject({
    status: 'faulted',
    error: {
      type: expect.stringContaining('/errors/runtime'),
      detail: expect.stringMatching(/^The script ended with exit code 1: reading\nError: no such row/),
    },
  });
  const caught = {
    do: [
      {
        attempt: {
          try: failing.do,
          catch: { errors: { with: { status: 500 } }, do: [{ instead: { set: { used: 'another way' } } }] },
        },
      },
    ],
  };
  expect(await run(caught)).toMatchObject({ status: 'completed', output: { used: 'another way' } });
});

test('a timeout of the task ends its script', async () => {
  const endless = scripted({ code: 'for (;;);' });
  const definition = {
    do: [{ compute: { ...endless.do[0]?.compute, timeout: { after: { milliseconds: 300 } } } }],
  };
  expect(await run(definition)).toMatchObject({
    status: 'faulted',
    error: { type: expect.stringContaining('/errors/timeout') },
  });
});

test('a secret reaches the script, and neither its output nor its log', async () => {
  await builder.put('/secrets/SCRIPT_KEY', { value: 'a-very-secret-value' });
  const definition = {
    use: { secrets: ['SCRIPT_KEY'] },
    ...scripted({
      code: `const { key } = process.env; console.log(key.length, key); console.error(key)`,
      environment: { key: '${ $secrets.SCRIPT_KEY }' },
    }),
  };
  const ended = await run(definition);
  expect(ended).toMatchObject({ status: 'completed', output: '19 <SECRET>\n' });
  expect(JSON.stringify(ended)).not.toContain('a-very-secret-value');
  expect(JSON.stringify(ended['logs'])).toContain('wrote to stderr: <SECRET>');
});

test('a failed script has what it wrote in the log, each stream in order', async () => {
  const code = `console.log('one'); console.error('two'); console.log('three'); process.exit(3)`;
  const ended = await run(scripted({ code }));
  expect(ended).toMatchObject({
    status: 'faulted',
    error: { detail: 'The script ended with exit code 3: two' },
  });
  const written = ended['logs'].filter(({ type }: RunRecord) => type === 'io.cadenza.process.output.v1');
  expect(written.map(({ level, message, data }: RunRecord) => [level, message, data.visit])).toEqual([
    ['info', 'compute wrote to stdout: one', 1],
    ['warn', 'compute wrote to stderr: two', 1],
    ['info', 'compute wrote to stdout: three', 1],
  ]);
});

test('files go into a script by reference, and those that it leaves become files of the run', async () => {
  const { body: file } = await builder.post('/files', 'first line', {
    headers: { 'content-type': 'text/plain', 'content-disposition': 'attachment; filename="a b.txt"' },
  });
  const code = `import { readFileSync, writeFileSync } from 'node:fs';
    console.log(process.argv[2]);
    writeFileSync('/files/out/upper.txt', readFileSync(process.argv[2], 'utf8').toUpperCase());`;
  const definition = scripted({ code, arguments: ['${ .file }'] }, { return: 'all' });
  const ended = await run(definition, { file: { file_id: file.id, name: file.name } });
  const [left] = ended['output'].files;
  expect(ended['output']).toEqual({
    code: 0,
    stdout: '/files/in/a b.txt\n',
    stderr: '',
    files: [
      { file_id: left.file_id, name: 'upper.txt', media_type: 'text/plain', size: 10, sha256: left.sha256 },
    ],
  });
  expect(ended['logs'].map(({ message }: RunRecord) => message)).toContain('compute left upper.txt');
  expect((await builder.get(`/files/${left.file_id}`)).body).toBe('FIRST LINE');
  const names = (await builder.get(`/files?run_id=${ended['id']}`)).body.map(({ name }: RunRecord) => name);
  expect(names.toSorted()).toEqual(['a b.txt', 'upper.txt']);
  // Another user's file is not there, also if its id is not found in the input.
  const other = await platform.as('admin');
  const hidden = await other.post('/files', 'hidden', { headers: { 'content-type': 'text/plain' } });
  const computed = scripted({ code, arguments: ['${ {file_id: .id} }'] }, { return: 'all' });
  expect(await run(computed, { id: hidden.body.id })).toMatchObject({
    status: 'faulted',
    error: { detail: expect.stringMatching(/^There is no file .* that the run's owner may read$/) },
  });
});

test('a script can come from an endpoint, with its authentication', async () => {
  const fetched = (path: string) =>
    scripted({
      source: {
        endpoint: { uri: `${server.url}${path}`, authentication: { bearer: { token: 'script-token-1' } } },
      },
      arguments: ['now'],
    });
  expect(await run(fetched('/a.js'))).toMatchObject({ status: 'completed', output: 'fetched now\n' });
  expect(await run(fetched('/large.js'))).toMatchObject({
    status: 'faulted',
    error: { detail: 'The script has more than 1048576 bytes' },
  });
});

test('with await: false the run goes on, and the script runs in a run of its own', async () => {
  const definition = scripted(
    { code: `console.log(process.argv[2])`, arguments: ['${ .name }'] },
    { await: false },
  );
  const extension = { extend: 'run', before: [{ note: { set: { noted: true } } }] };
  const parent = await run(
    { ...definition, use: { extensions: [{ notes: extension }] } },
    { name: '${ "not evaluated" }' },
  );
  expect(parent).toMatchObject({ status: 'completed', output: { name: '${ "not evaluated" }' } });
  const [child] = await until(
    async () => (await builder.get(`/runs?parent_run_id=${parent['id']}`)).body as RunRecord[],
    (children) => children.length === 1,
  );
  const ended = await endOf(builder, (await builder.get(`/runs/${child?.['id']}`)).body);
  expect(ended).toMatchObject({ status: 'completed', output: '${ "not evaluated" }\n' });
  const namesOf = (record: RunRecord): string[] => record['tasks'].map(({ name }: RunRecord) => name);
  // The extension runs around the task, and not again around what it started.
  expect([namesOf(parent).toSorted(), namesOf(ended)]).toEqual([['compute', 'note'], ['compute']]);
});

test('what the installation does not run is said when a definition is saved', async () => {
  const problemsOf = async (configured: object): Promise<unknown> => {
    const { body } = await builder.post('/workflows/validate', {
      definition: { do: [{ it: { run: configured } }] },
    });
    return [body.valid, body.runnable, body.problems];
  };
  const refused = (kind: string, message: string): unknown => [
    true,
    false,
    [{ pointer: `/do/0/it/run/${kind}`, code: 'process_refused', message, severity: 'unsupported' }],
  ];
  const engine = 'no container engine is configured (SANDBOX_ENGINE)';
  expect(await problemsOf({ container: { image: 'alpine' } })).toEqual(
    refused('container', `run: container is switched off here: ${engine}`),
  );
  expect(await problemsOf({ shell: { command: 'ls' } })).toEqual(
    refused('shell', `run: shell is switched off here: ${engine}`),
  );
  expect(await problemsOf({ script: { language: 'python', code: 'print(1)' } })).toEqual(
    refused('script', `run: script in Python needs a container: ${engine}`),
  );
  expect(await problemsOf({ script: { language: 'js', code: '1' } })).toEqual([true, true, []]);
});
