/** `run: container` and `run: shell` on a real engine, end to end, and processes whose worker is killed. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createEngineGuard } from '../../adapters/sandbox/engine-guard.ts';
import { createSandbox } from '../../adapters/sandbox/containers.ts';
import { processSettings } from '../../config/process-settings.ts';
import { announceProcessPolicy } from '../../domain/operations/process-policy.ts';
import { readInstallationId } from '../../domain/operations/installation.ts';
import { removeContainers } from '../../worker/container-reaper.ts';
import type { Client } from '../support/app.ts';
import {
  IMAGE,
  PYTHON_IMAGE,
  startContainerEngine,
  type ContainerEngine,
} from '../support/container-engine.ts';
import { skip } from '../support/outside.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { startProgram } from '../support/programs.ts';
import { SANDBOX_CALL } from '../support/sandbox-call.ts';
import { startScriptedModel, toolAnswers } from '../support/scripted-model.ts';

const NETWORK = 'agents';
const found = await startContainerEngine('own');

if (typeof found === 'string') skip('containers on a real engine', found);
else withEngine(found);

function withEngine(engine: ContainerEngine): void {
  const settings = {
    SANDBOX_ENGINE: engine.address,
    SANDBOX_IMAGES: 'cadenza-test:*',
    SANDBOX_PYTHON_IMAGE: PYTHON_IMAGE,
    SANDBOX_PULL: 'never',
    SANDBOX_SHELL_IMAGE: IMAGE,
    SANDBOX_MEMORY_MIB: '32',
    SANDBOX_PIDS: '16',
    SANDBOX_SECONDS: '120',
    SCRIPT_SECONDS: '120',
  };
  const makesNetwork = makeNetwork(engine);
  let platform: TestPlatform;
  let builder: Client;

  beforeAll(async () => {
    platform = await startTestPlatform({ env: settings });
    builder = await platform.as('builder');
    await builder.put('/secrets/BOX_TOKEN', { value: 'a-very-secret-token' });
  });
  afterAll(async () => {
    await platform.close();
    await engine.stop();
  });

  const contained = (container: object, more: object = {}) => ({
    do: [{ work: { run: { container: { image: IMAGE, ...container }, ...more } } }],
  });
  const run = (definition: unknown, input: Record<string, unknown> = {}): Promise<RunRecord> =>
    startRun(builder, definition, input, 30);

  /** Of the containers that are not removed yet. */
  const gone = (): Promise<string[]> =>
    until(
      async () => engine.containers(),
      (ids) => ids.length === 0,
    );

  test('a container gets its command, arguments, environment and input', async () => {
    const definition = contained(
      {
        command: 'input=$(cat); echo "STDIN was: $input, ARGS are $1 $2, $PLACE"; echo problem >&2; exit 3',
        stdin: '${ .message }',
        arguments: ['Foo', '${ .second }'],
        environment: { PLACE: '${ .place }' },
      },
      { return: 'all' },
    );
    expect(await run(definition, { message: 'Hello $(id)', second: '$(id)', place: 'here' })).toMatchObject({
      status: 'completed',
      output: { code: 3, stdout: 'STDIN was: Hello $(id), ARGS are Foo $(id), here\n', stderr: 'problem\n' },
    });
    expect(await run(contained({}))).toMatchObject({ output: 'by itself\n' });
    expect(await run(contained({ arguments: ['now'] }))).toMatchObject({ output: 'by itself now\n' });
    await gone();
  });

  test('a container has no rights, no network and nothing to write to but /tmp', async () => {
    const command = `id -u; touch /x 2>/dev/null || echo read-only; touch /tmp/x && echo tmp
      grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\t'
      wget -T 2 http://192.0.2.1/ 2>/dev/null || echo offline
      cat /proc/net/dev | grep -c eth || true`;
    const { output } = await run(contained({ command }));
    expect(String(output).trim().split('\n')).toEqual([
      '65534',
      'read-only',
      'tmp',
      'CapPrm:0000000000000000',
      'CapEff:0000000000000000',
      'CapBnd:0000000000000000',
      'NoNewPrivs:1',
      expect.stringMatching(/^Seccomp:/),
      'offline',
      '0',
    ]);
  });

  test('a shell command runs in its own image, and its failure is an error', async () => {
    const shell = (command: string) => ({
      do: [{ work: { run: { shell: { command, arguments: ['a'] } } } }],
    });
    expect(await run(shell('echo "shell $1"'))).toMatchObject({ output: 'shell a\n' });
    expect(await run(shell('echo because >&2; exit 5'))).toMatchObject({
      status: 'faulted',
      error: {
        type: expect.stringContaining('/errors/runtime'),
        detail: 'The shell ended with exit code 5: because',
      },
    });
  });

  test('every limit of a container is an error that says so', async () => {
    const detailOf = async (command: string, more: object = {}): Promise<unknown> =>
      (await run(contained({ command }, more)))['error']?.detail;
    const [memory, output, forks] = await Promise.all([
      detailOf('x=a; while true; do x=$x$x; done'),
      detailOf('head -c 1100000 /dev/zero | tr "\\0" x'),
      detailOf('for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do sleep 5 & done; wait'),
    ]);
    expect(memory).toBe('The container needs more than 32 MiB');
    expect(output).toBe('The container wrote more than 1048576 bytes to stdout');
    expect(forks).toMatch(/exit code 2: .*fork/);
    await gone();
  });

  test('the five values that a process returns, and what nothing waits for', async () => {
    const command = 'echo out; echo err >&2; exit 4';
    const returned = async (value: string): Promise<unknown> =>
      (await run({ do: [{ work: { run: { shell: { command }, return: value } } }] }))['output'];
    expect(await Promise.all(['stderr', 'code', 'all'].map(returned))).toEqual([
      'err\n',
      4,
      { code: 4, stdout: 'out\n', stderr: 'err\n' },
    ]);
    const quiet = await run(contained({ command: 'echo out; echo why >&2' }, { return: 'none' }));
    expect(quiet).toMatchObject({ output: null });
    expect(messagesOf(quiet)).toEqual(
      expect.arrayContaining(['work wrote to stdout: out', 'work wrote to stderr: why']),
    );
    const parent = await run(contained({ command: 'echo alone' }, { await: false }), { from: 'parent' });
    expect(parent).toMatchObject({ status: 'completed', output: { from: 'parent' } });
    const [child] = await until(
      async () => (await builder.get(`/runs?parent_run_id=${parent['id']}`)).body as RunRecord[],
      (children) => children.length === 1,
    );
    const ended = await endOf(builder, (await builder.get(`/runs/${child?.['id']}`)).body);
    expect(ended).toMatchObject({ status: 'completed', output: 'alone\n' });
  });

  test('Python runs in its image, with arguments, input and files', async () => {
    if (!engine.hasPython) return;
    const code = `import sys, os
text = sys.stdin.read()
with open('/files/out/report.json', 'w') as f: f.write('{"n": %d}' % len(text))
print(sys.version_info[0], sys.argv[1:], os.environ['PLACE'], text)`;
    const script = { language: 'python', code, arguments: ['a b'], environment: { PLACE: 'x' }, stdin: 'in' };
    const { output } = await run({ do: [{ work: { run: { script, return: 'all' } } }] });
    expect(output).toMatchObject({ code: 0, stdout: `3 ['a b'] x in\n` });
    const { body } = await builder.get(`/files/${output.files[0].file_id}`);
    expect(body).toEqual({ n: 2 });
  });

  test('files go in by reference, and come out as files of the run', async () => {
    const upload = async (name: string, content: string): Promise<RunRecord> => {
      const { body } = await builder.post('/files', content, {
        headers: { 'content-type': 'text/plain', 'content-disposition': `attachment; filename="${name}"` },
      });
      return { file_id: body.id, name: body.name };
    };
    const [first, second] = [await upload('a b.txt', 'first'), await upload('a b.txt', 'second')];
    const command = `cat "$1" "$SECOND"; ls -ln /files | grep -c '^d'
      touch "$1" /files/x /files/in/x 2>/dev/null || echo protected
      ln -s /etc/passwd /files/out/link; mkdir /files/out/deep; echo 1 > /files/out/deep/inner
      cat "$1" > /files/out/copy.txt; printf '\\377\\000' > '/files/out/raw.bin'`;
    const definition = contained(
      { command, arguments: ['${ .first }'], environment: { SECOND: '${ .second }' } },
      { return: 'all' },
    );
    const ended = await run(definition, { first, second });
    expect(ended).toMatchObject({
      status: 'completed',
      output: { stdout: 'firstsecond2\nprotected\n', files: expect.any(Array) },
    });
    const files: RunRecord[] = ended['output'].files;
    expect(files.map(({ name, media_type: type, size }) => [name, type, size]).toSorted()).toEqual([
      ['copy.txt', 'text/plain', 5],
      ['raw.bin', 'application/octet-stream', 2],
    ]);
    expect(messagesOf(ended)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^work left (?:copy.txt, raw.bin|raw.bin, copy.txt)$/),
        '/files/out/link is no plain file and was left out',
        '/files/out/deep is no plain file and was left out',
      ]),
    );
    const { body: ofRun } = await builder.get(`/files?run_id=${ended['id']}`);
    expect(ofRun.map(({ name }: RunRecord) => name).toSorted()).toEqual([
      'a b.txt',
      'a b.txt',
      'copy.txt',
      'raw.bin',
    ]);
    await gone();
    expect(engine.docker('volume', 'ls', '-q')).toBe('');
    expect(
      await run(definition, { first: { file_id: '01890000-0000-4000-8000-000000000000' }, second }),
    ).toMatchObject({
      status: 'faulted',
      error: { detail: expect.stringMatching(/^There is no file .* that the run's owner may read$/) },
    });
  });

  test('the limits of files are errors, whatever a container does', async () => {
    const detailOf = async (command: string): Promise<unknown> =>
      (await run(contained({ command })))['error']?.detail;
    const many = 'for i in 1 2 3 4 5 6; do for j in 1 2 3 4 5 6; do echo > /files/out/$i-$j; done; done';
    expect(await detailOf(many)).toBe('The container left more than 32 files in /files/out');
    expect(await detailOf('truncate -s 1099511627776 /files/out/hole')).toBe(
      'The container left more than 64 MiB in /files/out',
    );
    expect(await detailOf('mkdir /files/out/d; truncate -s 1099511627776 /files/out/d/hole')).toBe(
      'The container left more than 64 MiB in /files/out',
    );
    // It counts as memory of the container.
    expect(await detailOf('dd if=/dev/zero of=/files/out/large bs=1M count=100')).toMatch(
      /needs more than 32 MiB|No space left/,
    );
    await gone();
    expect(engine.docker('volume', 'ls', '-q')).toBe('');
  });

  test('what a container writes is in the log while it runs, without secrets', async () => {
    await builder.put('/secrets/BOX_KEY', { value: 'a-very-secret-value' });
    const command = `echo "step 1 $KEY"; while ! ls /files/out | grep -q never; do
      [ -e /tmp/x ] && exit 0; sleep 1; touch /tmp/y; n=$((n+1)); [ $n = 60 ] && touch /tmp/x; done`;
    const definition = {
      use: { secrets: ['BOX_KEY'] },
      ...contained({ command, environment: { KEY: '${ $secrets.BOX_KEY }' } }),
    };
    const started = await startRun(builder, definition);
    const log = async (): Promise<RunRecord> => (await builder.get(`/runs/${started['id']}`)).body;
    const during = await until(log, (record) => messagesOf(record).some((line) => line.includes('step 1')));
    expect(during['status']).toBe('running');
    const ended = await endOf(builder, started);
    expect(messagesOf(ended).filter((line) => line.includes('step 1'))).toEqual([
      'work wrote to stdout: step 1 <SECRET>',
    ]);
    expect(JSON.stringify(ended)).not.toContain('very-secret');
  });

  test('much output, and what is no text, harms nobody', async () => {
    const loud = contained({ command: 'yes 0123456789abcdef | head -c 40000000 >&2' }, { return: 'code' });
    const ended = await run(loud);
    expect(ended).toMatchObject({ error: null, status: 'completed', output: 0 });
    expect(messagesOf(ended).filter((line) => line.endsWith('… truncated'))).toHaveLength(1);
    expect(JSON.stringify(ended['logs']).length).toBeLessThan(400_000);
    // As Docker's JSON, all of it would be five times as long.
    expect(engine.bytesKept()).toBeLessThan(150_000_000);
    const binary = contained({ command: `printf 'a\\377\\000b'` });
    expect(await run(binary)).toMatchObject({ status: 'completed', output: 'a\ufffd\\u0000b' });
  });

  test('a container that forks without end, or ignores SIGTERM, is ended', async () => {
    const bomb = await run(contained({ command: 'f() { f | f & }; f; sleep 2; exit 0' }, { return: 'code' }));
    expect(bomb['status']).toBe('completed');
    const deaf = await startRun(
      builder,
      contained({ command: `trap '' TERM INT; while true; do sleep 1; done` }),
    );
    await until(
      async () => engine.containers(),
      (ids) => ids.length === 1,
    );
    await builder.post(`/runs/${deaf['id']}/cancel`, {});
    expect(await endOf(builder, deaf)).toMatchObject({ status: 'cancelled' });
    await gone();
  });

  test('an image that is missing is an error with each pull policy', async () => {
    const sandboxSettings = processSettings(platform.env).sandbox ?? neverNull();
    const sandbox = createSandbox(sandboxSettings, async () => 'another');
    const detailOf = async (pull: 'never' | 'ifNotPresent' | 'always'): Promise<string> => {
      const call = { ...SANDBOX_CALL, pull, image: 'cadenza.invalid/missing:1', key: `missing ${pull}` };
      return String(await sandbox.run(call).catch((error: unknown) => error));
    };
    expect(await detailOf('never')).toContain('The engine has no image cadenza.invalid/missing:1');
    expect(await detailOf('ifNotPresent')).toContain('cadenza.invalid/missing:1 could not be pulled');
    expect(await detailOf('always')).toContain('cadenza.invalid/missing:1 could not be pulled');
    await sandbox.close();
  });

  test('50 containers take turns', async () => {
    const definition = {
      do: [
        {
          all: {
            call: 'map',
            with: {
              in: '[range(50)]',
              concurrency: 50,
              do: [{ one: { run: { shell: { command: 'echo $1', arguments: ['${ $item }'] } } } }],
            },
          },
        },
      ],
    };
    const ended = await run(definition);
    expect(ended).toMatchObject({
      status: 'completed',
      output: Array.from({ length: 50 }, (_, index) => `${index}\n`),
    });
    await gone();
  });

  test('what may not run here is said when a definition is saved', async () => {
    const problemsOf = async (container: object): Promise<unknown> => {
      const { body } = await builder.post('/workflows/validate', { definition: contained(container) });
      return body.problems.map(({ pointer, message }: Record<string, string>) => [pointer, message]);
    };
    const place = '/do/0/work/run/container';
    expect(await problemsOf({ image: 'alpine' })).toEqual([
      [`${place}/image`, 'the image alpine may not run here (SANDBOX_IMAGES)'],
    ]);
    expect(await problemsOf({ pullPolicy: 'always' })).toEqual([
      [`${place}/pullPolicy`, 'images are pulled at most with pullPolicy: never here (SANDBOX_PULL)'],
    ]);
    expect(await problemsOf({ volumes: { '/etc': '/data' }, ports: { 8080: 80 } })).toEqual([
      [
        `${place}/ports`,
        "the port 8080 of the engine's host may not be published here: " +
          'containers have no network (SANDBOX_NETWORK)',
      ],
      [`${place}/volumes`, 'the volume /etc may not be mounted here (SANDBOX_VOLUMES)'],
    ]);
    // An expression is checked when its value is known.
    expect(await run(contained({ image: '${ "alpine" }' }))).toMatchObject({
      status: 'faulted',
      error: { detail: 'The image alpine may not run here (SANDBOX_IMAGES)' },
    });
  });

  test('cancelling a run ends its container', async () => {
    const started = await startRun(builder, contained({ command: 'sleep 100' }));
    await until(
      async () => engine.containers(),
      (ids) => ids.length === 1,
    );
    await builder.post(`/runs/${started['id']}/cancel`, {});
    expect(await endOf(builder, started)).toMatchObject({ status: 'cancelled' });
    await gone();
  });

  test('a container stays as long as its definition says, and orphans are removed', async () => {
    const sandbox = createSandbox(processSettings(platform.env).sandbox ?? neverNull(), () =>
      readInstallationId(platform.orm.em.fork()),
    );
    const fork = () => platform.orm.em.fork();
    const lifetime = { cleanup: 'eventually', after: { hours: 1 } };
    await run(contained({ command: 'echo kept', lifetime, name: 'mine' }));
    const [kept] = engine.containers();
    expect(engine.docker('inspect', '-f', '{{index .Config.Labels "io.cadenza.task"}}', String(kept))).toBe(
      'mine',
    );
    const label = (name: string) => ['--label', `io.cadenza.installation=${name}`];
    const own = await readInstallationId(fork());
    const orphan = engine.docker('run', '-d', '--network=none', ...label(own), IMAGE, '/bin/sleep', '100');
    const foreign = engine.docker(
      'run',
      '-d',
      '--network=none',
      ...label('another'),
      IMAGE,
      '/bin/sleep',
      '100',
    );
    expect(await removeContainers({ sandbox, fork }, 0)).toBe(1);
    expect(new Set(engine.containers())).toEqual(new Set([kept, foreign]));
    expect(engine.containers()).not.toContain(orphan);
    await sandbox.close();
    engine.docker('rm', '-f', String(kept), foreign);
  });

  test('a container whose engine is killed is followed or ended, and new ones run', async () => {
    const started = await startRun(builder, contained({ command: 'echo begun; sleep 5; echo done' }));
    await until(
      async () => engine.containers(),
      (ids) => ids.length === 1,
    );
    await engine.restart();
    const ended = await endOf(builder, started);
    // An engine without "live-restore" ends what ran before.
    if (ended['status'] === 'completed') expect(ended['output']).toBe('begun\ndone\n');
    else expect(ended['error'].detail).toMatch(/^The container ended with exit code \d+/);
    expect(await run(contained({}))).toMatchObject({ output: 'by itself\n' });
    await gone();
  });

  test('the guard before the engine lets everything through that Cadenza does', async () => {
    const { policy, sandbox: own } = processSettings(platform.env);
    const guarded = own ?? neverNull();
    const token = 't'.repeat(32);
    const refused: string[] = [];
    const guard = createEngineGuard({
      socketPath: engine.address.slice('unix://'.length),
      token,
      policy,
      settings: guarded,
      refused: (what) => refused.push(what),
    });
    await new Promise<void>((resolve) => guard.listen(0, '127.0.0.1', resolve));
    const { port } = guard.address() as AddressInfo;
    const sandbox = createSandbox(
      { ...guarded, engine: `http://127.0.0.1:${port}`, token },
      async () => 'own',
    );
    const files: string[] = [];
    const chunks = async (): Promise<AsyncIterable<Uint8Array>> => Readable.from([Buffer.from('12345')]);
    const command = 'cat; cat /files/in/a; echo "$1 $KEY" >&2; echo out > /files/out/b';
    const call = {
      ...SANDBOX_CALL,
      image: IMAGE,
      entrypoint: ['/bin/sh', '-c', command, 'sh'],
      arguments: ['one'],
      env: { KEY: 'a=b' },
      stdin: 'x'.repeat(300_000),
      outputBytes: 1_000_000,
      files: [{ name: 'a', size: 5, chunks }],
      takeFile: async (name: string, content: AsyncIterable<Uint8Array>) => {
        files.push(`${name}: ${await text(content)}`);
      },
    };
    const ended = await sandbox.run(call);
    expect({ ...ended, stdout: ended.stdout.replaceAll('x', '').trim() }).toEqual({
      code: 0,
      stdout: '12345',
      stderr: 'one a=b\n',
      cut: [],
      leftOut: [],
    });
    expect([files, ended.stdout.length]).toEqual([['b: out\n'], 300_005]);
    expect((await sandbox.list()).map(({ key }) => key)).toEqual(['call', 'call']);
    await sandbox.release('call');
    expect(await sandbox.list()).toEqual([]);
    const sleeping = { key: 'late', entrypoint: ['/bin/sleep', '60'], arguments: [], timeoutMs: 500 };
    const late = sandbox.run({ ...call, ...sleeping });
    await expect(late).rejects.toThrow('did not end within');
    await sandbox.release('late');
    expect([await sandbox.version(), refused]).toEqual([expect.any(String), []]);
    await sandbox.close();
    guard.closeAllConnections();
    guard.close();
    await gone();
  });

  test('with a queue of their own, only sandbox workers run containers, and their lack is told', async () => {
    const queued = { ...settings, SANDBOX_TASK_QUEUE: 'sandbox-test' };
    const other = await startTestPlatform({ env: queued });
    const person = await other.as('builder');
    const script = { run: { script: { language: 'js', code: `console.log('here')` } } };
    const definition = { do: [{ here: script }, ...contained({ command: 'echo there' }).do] };
    const started = await startRun(person, definition);
    const read = async (): Promise<RunRecord> => (await person.get(`/runs/${started['id']}`)).body;
    const agent = { name: 'boxed', type: 'docker', version: '1.0.0', visibility: 'private' };
    const configuration = { image: IMAGE, command: 'cat' };
    const { body: boxed } = await person.post('/agents', { ...agent, configuration });
    const check = async (): Promise<RunRecord> => (await person.post(`/agents/${boxed.id}/check`)).body;
    // No other copy has announced that containers run here.
    await announceProcessPolicy(other.orm.em.fork(), {
      containers: processSettings(other.env).policy.containers,
    });
    expect(await check()).toMatchObject({
      status: 'failed',
      error: 'timeout',
      detail: expect.stringContaining('No worker with the container engine has answered within 15 s'),
    });
    const waiting = await until(read, (record) => messagesOf(record).some((line) => line.includes('waits')));
    expect(messagesOf(waiting).slice(-2)).toEqual([
      'work started',
      'work waits: within 30 s no worker of the task queue sandbox-test has taken it. ' +
        'Either none runs or all are busy.',
    ]);
    expect(waiting['status']).toBe('running');
    expect(engine.containers()).toEqual([]);
    const worker = await startProgram('sandbox', other, queued);
    expect(await endOf(person, started)).toMatchObject({ status: 'completed', output: 'there\n' });
    const slow = await startRun(person, contained({ command: 'echo a >&2; sleep 4; echo b >&2' }));
    await until(
      async () => engine.containers(),
      (ids) => ids.length === 1,
    );
    await worker.kill();
    await worker.start();
    expect(await endOf(person, slow)).toMatchObject({ status: 'completed', output: '' });
    await gone();
    expect(await check()).toMatchObject({ status: 'ok', error: null });
    const invoked = { do: [{ ask: { call: 'agent', with: { agent: 'boxed', input: { n: 1 } } } }] };
    expect(await startRun(person, invoked, {}, 30)).toMatchObject({ status: 'completed', output: { n: 1 } });
    await gone();
    await worker.kill();
    await other.close();
  });

  describe('an agent of kind docker', () => {
    const agentBody = (name: string, configuration: object, more: object = {}) => ({
      name,
      type: 'docker',
      version: '1.0.0',
      visibility: 'private',
      configuration: { image: IMAGE, ...configuration },
      ...more,
    });
    const register = async (name: string, configuration: object, more: object = {}): Promise<RunRecord> => {
      const { status, body } = await builder.post('/agents', agentBody(name, configuration, more));
      expect({ status, body }).toMatchObject({ status: 201 });
      return body;
    };
    const invoke = (agent: string, input: unknown = null) => ({
      do: [{ work: { call: 'agent', with: { agent, input } } }],
    });

    test('gets its input in each way, and returns JSON, text or what a file has', async () => {
      await register('by-stdin', { command: 'cat', env: { TOKEN: '<BOX_TOKEN>' } });
      await register('by-file', {
        command: 'echo "a note" >&2; cat "$CADENZA_INPUT_FILE" > "$CADENZA_OUTPUT_FILE"',
        input: 'file',
        output: 'file',
      });
      await register('by-args', {
        command: 'echo "$0 $# $2 $WHO $TOKEN"',
        input: 'args',
        env: { WHO: '${ .[0] }', TOKEN: '<BOX_TOKEN>' },
      });
      await register('plain', { entrypoint: '/bin/echo', command: ['two', 'words'] });
      const input = { n: 1, text: 'x $(id)' };
      const outputs = await Promise.all(
        (
          [
            ['by-stdin', input],
            ['by-file', input],
            ['by-args', ['a', 'b c']],
            ['plain', null],
          ] as const
        ).map(async ([name, given]) => (await run(invoke(name, given)))['output']),
      );
      expect(outputs).toEqual([input, input, 'sh 2 b c a <BOX_TOKEN>', 'two words']);
      await gone();
    });

    test('files of the input go in, and files that it leaves are files of the run', async () => {
      const { body: file } = await builder.post('/files', 'content', {
        headers: { 'content-type': 'text/plain', 'content-disposition': 'attachment; filename="in.txt"' },
      });
      await register('copies', {
        command: `path=$(grep -o '/files/in/[a-z.]*' -)
          cat "$path" > /files/out/copy.txt; echo more > /files/out/more.txt
          echo '{"copy": "/files/out/copy.txt"}'`,
      });
      const ended = await run(invoke('copies', { given: { file_id: file.id, name: 'in.txt' } }));
      expect(ended).toMatchObject({
        status: 'completed',
        output: {
          copy: { file_id: expect.any(String), name: 'copy.txt', size: 7 },
          files: [{ name: 'more.txt' }],
        },
      });
    });

    test('counts words in the example', async () => {
      const path = join(import.meta.dirname, '../../examples/kinds/container.json');
      const { agents, definition } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, any>;
      const [{ name, configuration, ...more }] = agents;
      await register(name, { ...configuration, image: IMAGE }, more);
      expect(await run(definition, { text: 'three little words' })).toMatchObject({
        status: 'completed',
        output: { words: 3 },
      });
    });

    test('has less than the installation allows, no rights and no network', async () => {
      await register('limited', {
        command: `id -u; touch /x 2>/dev/null || echo read-only
          grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status | tr -d '\\t'
          cat /proc/net/dev | grep -c eth || true
          cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max 2>/dev/null || true`,
        user: '4321:4321',
        memory: '16m',
        pids: 8,
        cpus: 0.5,
      });
      const lines = String((await run(invoke('limited')))['output']).split('\n');
      expect(lines.slice(0, 6)).toEqual([
        '4321',
        'read-only',
        'CapEff:0000000000000000',
        'CapBnd:0000000000000000',
        'NoNewPrivs:1',
        '0',
      ]);
      if (lines.length > 6) expect(lines.slice(6)).toEqual([String(16 * 1024 * 1024), '8']);
      await register('greedy', { command: 'x=a; while true; do x=$x$x; done', memory: 16 });
      expect(await run(invoke('greedy'))).toMatchObject({
        error: { detail: 'The container needs more than 16 MiB' },
      });
    });

    test('its failure is an error with the end of what it said, without secrets', async () => {
      await register('fails', {
        command: 'echo "no access with $TOKEN" >&2; exit 7',
        env: { TOKEN: '<BOX_TOKEN>' },
      });
      expect(await run(invoke('fails'))).toMatchObject({
        status: 'faulted',
        error: {
          type: expect.stringContaining('/errors/runtime'),
          detail: 'The container of fails ended with exit code 7: no access with <BOX_TOKEN>',
        },
      });
      await register('wrong', { command: 'echo 5' }, { output_schema: { type: 'string' } });
      expect(await run(invoke('wrong'))).toMatchObject({
        error: { detail: expect.stringContaining('does not fit its output_schema') },
      });
      await register('endless', { command: 'sleep 100', timeout: 'PT1S' });
      expect(await run(invoke('endless'))).toMatchObject({
        error: { type: expect.stringContaining('/errors/timeout') },
      });
      await gone();
    });

    test('what the installation forbids is a warning when it is saved, and an error', async () => {
      const { warnings } = await register('foreign', { image: 'alpine', network: true, pull: 'always' });
      expect(warnings.map(({ pointer, message }: RunRecord) => [pointer, message])).toEqual([
        [
          '/configuration/image',
          'the image alpine may not run here (SANDBOX_IMAGES); invoking the agent will fault',
        ],
        [
          '/configuration/pull',
          'images are not pulled with pull: always here (SANDBOX_PULL); invoking the agent will fault',
        ],
        [
          '/configuration/network',
          'containers have no network here (SANDBOX_NETWORK); invoking the agent will fault',
        ],
      ]);
      expect(await run(invoke('foreign'))).toMatchObject({
        error: { detail: 'The image alpine may not run here (SANDBOX_IMAGES)' },
      });
      const { warnings: root } = await register('root', { user: '0:0', command: 'id', entrypoint: 'x' });
      expect(root.map(({ pointer }: RunRecord) => pointer).toSorted()).toEqual([
        '/configuration/command',
        '/configuration/user',
      ]);
    });

    test('is checked by the engine, without a process', async () => {
      const check = async (name: string, configuration: object) => {
        const { id } = await register(name, configuration);
        const { body } = await builder.post(`/agents/${id}/check`);
        expect((await builder.get(`/agents/${id}`)).body.last_check).toEqual(body);
        return [body.status, body.error, body.detail];
      };
      expect(await check('checked', { output: 'file', env: { TOKEN: '<BOX_TOKEN>' } })).toEqual([
        'ok',
        null,
        expect.stringMatching(/^The container engine \(\d[\w.+-]*\) has the image cadenza-test:1\.$/),
      ]);
      expect(await check('absent', { image: 'cadenza-test:none' })).toEqual([
        'failed',
        'configuration',
        expect.stringContaining('The engine has no image cadenza-test:none'),
      ]);
      expect(await check('unnamed', { env: { TOKEN: '<NO_SUCH_TOKEN>' } })).toEqual([
        'failed',
        'configuration',
        expect.stringContaining('NO_SUCH_TOKEN'),
      ]);
      expect(await check('foreign-check', { image: 'alpine' })).toEqual([
        'failed',
        'configuration',
        'The image alpine may not run here (SANDBOX_IMAGES).',
      ]);
      // Whoever may pull asks the registry, which this engine without a network does not reach.
      const { sandbox: own } = processSettings(platform.env);
      const pulling = createSandbox({ ...(own ?? neverNull()), filesImage: null }, async () => 'own');
      const signal = AbortSignal.timeout(10_000);
      const wanted = { pull: 'ifNotPresent' as const, hasFolder: false, signal };
      await expect(pulling.check({ ...wanted, image: 'cadenza.invalid/missing:1' })).rejects.toThrow(
        'The image cadenza.invalid/missing:1 cannot be pulled',
      );
      await expect(pulling.check({ ...wanted, image: IMAGE, hasFolder: true })).rejects.toThrow(
        'SANDBOX_SHELL_IMAGE',
      );
      await pulling.close();
      expect(engine.containers()).toEqual([]);
    });

    if (!makesNetwork) skip('the network of an agent of kind docker', 'the engine makes no network');
    else
      test('has the network of the installation only if it asks for it', async () => {
        const other = await startTestPlatform({ env: { ...settings, SANDBOX_NETWORK: NETWORK } });
        const person = await other.as('builder');
        // Its only way out, in the table of routes.
        const command = 'grep -c eth0 /proc/net/route || true';
        for (const [name, more] of [
          ['online', { network: true }],
          ['offline', {}],
        ] as const)
          await person.post('/agents', agentBody(name, { command, ...more }));
        expect(await startRun(person, invoke('online'), {}, 30)).toMatchObject({ output: 2 });
        expect(await startRun(person, invoke('offline'), {}, 30)).toMatchObject({ output: 0 });
        await gone();
        await other.close();
      });

    test('is a tool of a language model', async () => {
      const model = await startScriptedModel();
      model.script((_request, turn) =>
        turn === 1 ? { calls: [{ name: 'doubles', arguments: { n: 21 } }] } : { text: 'Done' },
      );
      const command = `n=$(grep -o '[0-9]*' -); echo "{\\"twice\\": $((n * 2))}"`;
      await register('doubles', { command }, { input_schema: { type: 'object', required: ['n'] } });
      const tools = [{ agent: 'doubles' }];
      const configuration = { base_url: `${model.url}/v1`, model: 'tiny', tools };
      const body = agentBody('asks-a-box', {}, { type: 'llm', configuration });
      expect((await builder.post('/agents', body)).status).toBe(201);
      expect(await run(invoke('asks-a-box', 'Double it'))).toMatchObject({
        status: 'completed',
        error: null,
      });
      expect(toolAnswers(model.requests.at(-1) ?? neverNull())).toEqual([['doubles', '{"twice":42}']]);
      await gone();
      await model.close();
    });

    test('cancelling its run ends the container', async () => {
      await register('sleeps', { command: 'sleep 100' });
      const started = await startRun(builder, invoke('sleeps'));
      await until(
        async () => engine.containers(),
        (ids) => ids.length === 1,
      );
      await builder.post(`/runs/${started['id']}/cancel`, {});
      expect(await endOf(builder, started)).toMatchObject({ status: 'cancelled' });
      await gone();
    });

    test('has one result if its worker is killed, and is not begun twice if that does harm', async () => {
      const command = 'echo begun >&2; sleep 6; head -c 4 /dev/urandom | wc -c';
      await register('goes-on', { command, retry: { idempotent: false } });
      await platform.stopWorker();
      const worker = await startProgram('worker', platform, settings);
      const begin = async (): Promise<RunRecord> => {
        const started = await startRun(builder, invoke('goes-on'));
        const read = async (): Promise<RunRecord> => (await builder.get(`/runs/${started['id']}`)).body;
        await until(read, (record) => messagesOf(record).some((line) => line.includes('begun')));
        return started;
      };
      const started = await begin();
      const [before] = engine.containers();
      await worker.kill();
      await worker.start();
      expect(engine.containers()).toEqual([before]);
      expect(await endOf(builder, started)).toMatchObject({ status: 'completed', output: 4 });
      await gone();
      const lost = await begin();
      const [removed = ''] = engine.containers();
      await worker.kill();
      engine.docker('rm', '-f', removed);
      await worker.start();
      expect(await endOf(builder, lost)).toMatchObject({
        status: 'faulted',
        error: { detail: expect.stringContaining('The outcome of an earlier attempt is unknown') },
      });
      await worker.kill();
      await platform.startWorker();
    });
  });

  describe('when the worker is killed', () => {
    test('its log has each line once, and its files are stored once', async () => {
      await platform.stopWorker();
      const worker = await startProgram('worker', platform, settings);
      const command = `for i in 1 2 3 4 5 6 7 8; do echo "line $i" >&2; sleep 1; done
        echo content > /files/out/a.txt`;
      const started = await startRun(builder, contained({ command }, { return: 'all' }));
      const read = async (): Promise<RunRecord> => (await builder.get(`/runs/${started['id']}`)).body;
      await until(read, (record) => messagesOf(record).some((line) => line.includes('line 3')));
      await worker.kill();
      await worker.start();
      const ended = await endOf(builder, started);
      expect(ended).toMatchObject({ status: 'completed', output: { code: 0, files: [{ name: 'a.txt' }] } });
      const lines = ended['logs'].flatMap(({ data }: RunRecord) =>
        data?.stream === 'stderr' ? String(data.text).trimEnd().split('\n') : [],
      );
      expect(lines).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `line ${n}`));
      expect((await builder.get(`/files?run_id=${started['id']}`)).body).toHaveLength(1);
      await gone();
      await worker.kill();
      await platform.startWorker();
    });

    test('a container goes on, a script runs again, and each has one result', async () => {
      await platform.stopWorker();
      const worker = await startProgram('worker', platform, settings);
      const busy = `const end = Date.now() + 4000; while (Date.now() < end); console.log('script done')`;
      const started = await startRun(builder, {
        do: [
          {
            both: {
              fork: {
                branches: [
                  {
                    box: {
                      run: {
                        container: { image: IMAGE, command: 'sleep 6; head -c 4 /dev/urandom | wc -c' },
                      },
                    },
                  },
                  { code: { run: { script: { language: 'js', code: busy } } } },
                ],
              },
            },
          },
        ],
      });
      const [before] = await until(
        async () => engine.containers(),
        (ids) => ids.length === 1,
      );
      await worker.kill();
      await worker.start();
      expect(engine.containers()).toEqual([before]);
      const ended = await endOf(builder, started);
      expect(ended).toMatchObject({ status: 'completed', output: ['4\n', 'script done\n'] });
      expect(ended['tasks'].filter(({ name }: RunRecord) => ['box', 'code'].includes(name))).toHaveLength(2);
      await gone();
      await worker.kill();
      await platform.startWorker();
    });
  });
}

function messagesOf(record: RunRecord): string[] {
  return record['logs'].map(({ message }: RunRecord) => String(message));
}

function neverNull(): never {
  throw new Error('no engine is configured');
}

/** Whether the engine has made a network for agents. */
function makeNetwork(engine: ContainerEngine): boolean {
  try {
    engine.docker('network', 'create', NETWORK);
    return true;
  } catch {
    return false;
  }
}
