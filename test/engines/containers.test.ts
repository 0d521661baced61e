/** `run: container` and `run: shell` on a real engine, end to end, and processes whose worker is killed. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSandbox } from '../../adapters/sandbox/containers.ts';
import { processSettings } from '../../config/process-settings.ts';
import { readInstallationId } from '../../domain/operations/installation.ts';
import { removeContainers } from '../../worker/container-reaper.ts';
import type { Client } from '../support/app.ts';
import { IMAGE, startContainerEngine, type ContainerEngine } from '../support/container-engine.ts';
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

const found = await startContainerEngine();

if (typeof found === 'string') skip('containers on a real engine', found);
else withEngine(found);

function withEngine(engine: ContainerEngine): void {
  const settings = {
    SANDBOX_ENGINE: engine.address,
    SANDBOX_IMAGES: 'cadenza-test:*',
    SANDBOX_PULL: 'never',
    SANDBOX_SHELL_IMAGE: IMAGE,
    SANDBOX_MEMORY_MIB: '32',
    SANDBOX_PIDS: '16',
    SANDBOX_SECONDS: '120',
    SCRIPT_SECONDS: '120',
  };
  let platform: TestPlatform;
  let builder: Client;

  beforeAll(async () => {
    platform = await startTestPlatform({ env: settings });
    builder = await platform.as('builder');
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

  describe('when the worker is killed', () => {
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

function neverNull(): never {
  throw new Error('no engine is configured');
}
