/**
 * migrate, api and worker in containers, as docker-compose.yml and docker/kubernetes run them: the image's
 * entry point, a read-only root, a user without rights. Images of others cannot be fetched where tests run,
 * so the base is this machine's Node.js with its libraries, and the folder of the repository is the image's.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startContainerEngine, type ContainerEngine } from '../support/container-engine.ts';
import { ownPort } from '../support/machine.ts';
import { skip } from '../support/outside.ts';
import { until } from '../support/platform.ts';
import {
  createTestDatabase,
  testTemporal,
  type TestDatabase,
  type TestTemporal,
} from '../support/servers.ts';

const root = join(import.meta.dirname, '../..');
const owner = statSync(join(root, 'package.json'));
const IMAGE = 'cadenza-test-image:1';
const PASSWORD = 'a password of the test';

const found = await startContainerEngine('machine');

if (typeof found === 'string') skip('api and worker in containers', found);
else inContainers(found);

function inContainers(engine: ContainerEngine): void {
  const { docker } = engine;
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-image-'));
  let database: TestDatabase | undefined;
  let temporal: TestTemporal;
  let settings: string[];
  let url: string;

  beforeAll(async () => {
    importImage(folder, docker);
    const empty = await createTestDatabase({ empty: true });
    database = empty;
    temporal = await testTemporal();
    const port = await ownPort();
    url = `http://127.0.0.1:${port}`;
    const env = {
      DATABASE_URL: empty.url,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      TEMPORAL_TASK_QUEUE: temporal.taskQueue,
      ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
      ADMIN_PASSWORD: PASSWORD,
      DATA_DIR: '/tmp/cadenza',
      FILES_LARGE_VALUES: 'false',
      HOST: '127.0.0.1',
      PORT: String(port),
      NODE_ENV: 'production',
    };
    settings = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  });
  afterAll(async () => {
    await engine.stop();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (name: string, ...more: string[]): string =>
    docker(
      'run',
      '--name',
      name,
      '--network=host',
      '--read-only',
      '--tmpfs=/tmp:exec,mode=1777',
      // Of the clone, whose files others may not read.
      `--user=${owner.uid}:${owner.gid}`,
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      `--volume=${root}:/app:ro`,
      ...settings,
      ...more,
    );

  test('migrate, api and worker run a workflow, are healthy, and end when they are stopped', async () => {
    expect(run('migrate', '--rm', IMAGE, 'migrate')).toContain('migrated: ');
    run('api', '--detach', IMAGE, 'api');
    run('worker', '--detach', IMAGE, 'worker');
    await until(
      () =>
        fetch(`${url}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
    await until(
      async () => health(docker),
      (isWell) => isWell,
    );
    const token = await send('/auth/token', { username: 'admin', password: PASSWORD });
    const definition = { do: [{ sum: { set: { sum: '${ 1 + 2 }' } } }] };
    const workflow = await send('/workflows', { name: 'sum', definition }, token.access_token);
    const { id } = await send(`/workflows/${workflow.id}/run`, {}, token.access_token);
    const ended = await until(
      () => send(`/runs/${id}`, undefined, token.access_token),
      ({ status }) => status === 'completed' || status === 'faulted',
    );
    expect(ended).toMatchObject({ status: 'completed', output: { sum: 3 } });
    const checks = docker(
      'exec',
      'api',
      'sh',
      '/app/docker/entrypoint.sh',
      'server',
      'doctor',
      '-o',
      'jsonl',
    );
    expect(checks).toContain('"check":"workers"');
    expect(checks).not.toContain('"status":"error"');
    for (const [name, last] of [
      ['worker', 'worker stopped'],
      ['api', 'stopped'],
    ] as const) {
      docker('stop', '--time', '60', name);
      expect(docker('inspect', '--format', '{{.State.ExitCode}}', name)).toBe('0');
      expect(docker('logs', name)).toContain(`"msg":"${last}"`);
    }
  });

  async function send(path: string, body?: unknown, token?: string): Promise<any> {
    const answer = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
}

function health(docker: ContainerEngine['docker']): boolean {
  try {
    docker('exec', 'worker', 'node', 'docker/worker-health.ts');
    return true;
  } catch {
    return false;
  }
}

/** Node.js, the shell, and the libraries of both and of Temporal's native part. */
function importImage(folder: string, docker: ContainerEngine['docker']): void {
  const image = join(folder, 'root');
  const resolve = createRequire(import.meta.url).resolve;
  const bridge = dirname(resolve('@temporalio/core-bridge/package.json'));
  const native = join(
    bridge,
    `releases/${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-unknown-linux-gnu/index.node`,
  );
  const programs = [process.execPath, '/bin/sh', '/usr/bin/dirname', '/usr/bin/readlink'];
  const libraries = [...programs, native].flatMap((program) =>
    [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(/g)].map(
      ([, path = '']) => path,
    ),
  );
  for (const path of new Set(libraries)) copy(image, path, path);
  copy(image, process.execPath, '/usr/bin/node');
  for (const program of programs.slice(1))
    copy(image, program, join('/bin', program.split('/').at(-1) ?? ''));
  mkdirSync(join(image, 'tmp'));
  mkdirSync(join(image, 'app'));
  mkdirSync(join(image, 'etc'), { recursive: true });
  writeFileSync(join(image, 'etc/passwd'), 'node:x:1000:1000::/tmp:/bin/sh\n');
  writeFileSync(join(image, 'etc/hosts'), '127.0.0.1 localhost\n');
  execFileSync('chmod', ['-R', 'a+rX', image]);
  execFileSync('tar', ['-C', image, '-cf', `${image}.tar`, '.']);
  const changes = [
    'WORKDIR /app',
    'ENV PATH=/usr/bin:/bin HOME=/tmp',
    'ENTRYPOINT ["sh","/app/docker/entrypoint.sh"]',
  ];
  docker('import', ...changes.flatMap((change) => ['--change', change]), `${image}.tar`, IMAGE);
}

function copy(image: string, from: string, to: string): void {
  mkdirSync(join(image, dirname(to)), { recursive: true });
  copyFileSync(from, join(image, to));
}
