/** What a worker checks of a process before it starts, and when a lost engine ends one. */
import { expect, test } from '@jest/globals';
import { withDeferred } from '../../../activities/secret-arguments.ts';
import { createEgressPolicy } from '../../../adapters/egress/create-egress-policy.ts';
import { createSandbox, type Sandbox } from '../../../adapters/sandbox/containers.ts';
import { collectOutput } from '../../../adapters/sandbox/multiplexed.ts';
import { createProcessRunner } from '../../../adapters/sandbox/run-process.ts';
import { Fault } from '../../../contracts/fault.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { removeContainers } from '../../../worker/container-reaper.ts';
import { startServer } from '../../support/http-server.ts';
import { SANDBOX_CALL } from '../../support/sandbox-call.ts';

const NOTHING = { stdout: 0, stderr: 0, cut: false };
const CALL = {
  kind: 'container' as const,
  whole: ['stdout'] as const,
  idempotencyKey: 'run:/do/0/work:1:1',
  timeoutMs: 60_000,
  signal: new AbortController().signal,
  secret: async () => null,
  log: { logged: NOTHING, append: async (_texts: unknown, _from: unknown, to: typeof NOTHING) => to },
  files: { open: async () => null, store: () => Promise.reject(new Error('no files here')) },
};
const CONTAINERS = {
  images: ['tools:*'],
  pull: 'ifNotPresent' as const,
  network: false,
  ports: [],
  volumes: [],
  shell_image: null,
  python_image: null,
};

/** What is run by this sandbox has passed all checks. */
const passed = { run: () => Promise.reject(new Error('passed')) } as unknown as Sandbox;

async function refusalOf(configured: Record<string, unknown>): Promise<unknown> {
  const policy = { scripts: true, containers: CONTAINERS };
  const scripts = { threads: 1, memoryMib: 8, seconds: 1 };
  const runner = createProcessRunner(createEgressPolicy(), { policy, scripts }, passed);
  const error: unknown = await runner.run({ ...CALL, with: configured }).catch((thrown: unknown) => thrown);
  return error instanceof Fault || (error as Error).message !== 'passed' ? (error as Error).message : null;
}

test.each(['other', 'other:${', 'other:1&x=${', 5, ['other'], null, true])(
  'an expression cannot choose the image %j',
  async (image) => {
    expect(await refusalOf({ image })).toMatch(/^The image .* may not run here \(SANDBOX_IMAGES\)$/);
  },
);

test('an image that is allowed runs, and an impossible lifetime is an error that says so', async () => {
  expect(await refusalOf({ image: 'tools:1' })).toBeNull();
  const lifetime = { cleanup: 'eventually', after: 'soon' };
  expect(await refusalOf({ image: 'tools:1', lifetime })).toMatch(/^lifetime.after: "soon" is not an ISO/);
});

test.each(['/source/endpoint', '/source/endpoint/uri'])(
  'an expression with secrets gives a text at %s, and no authentication',
  async (pointer) => {
    const deferred = [{ pointer, expression: '${ { uri: $secrets.K, authentication: .chosen } }' }];
    const input = { with: { source: { endpoint: {} } }, deferred, scope: { input: {} }, secrets: ['K'] };
    await expect(withDeferred(input, async () => 'secret')).rejects.toThrow('must give a text');
  },
);

test('a container outlives the connection to its engine', async () => {
  const running = {
    Id: 'c1',
    State: { Status: 'running', StartedAt: new Date().toISOString(), FinishedAt: '', ExitCode: 0 },
    Config: { Labels: {} },
  };
  const engine = await startServer(({ method, path }, response) => {
    const created = engine.seen.some((request) => request.path.includes('/create'));
    const answer = (status: number, body: unknown): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (path.includes('/images/')) return answer(200, { Config: {} });
    if (path.includes('/create')) return answer(201, { Id: 'c1' });
    if (path.includes('/start')) return void response.writeHead(204).end();
    if (path.includes('/wait')) return;
    if (path.includes('/logs')) {
      response.writeHead(200).write('part of a ');
      return void setTimeout(() => response.destroy(), 50);
    }
    return method === 'GET' && created ? answer(200, running) : answer(404, {});
  });
  const limits = { memoryMib: 8, cpus: 1, pids: 1, seconds: 60, atOnce: 1, keepHours: 1 };
  const sandbox = createSandbox(
    { engine: engine.url, user: '1:1', network: null, filesImage: null, ...limits },
    async () => 'installation',
  );
  const call = { ...SANDBOX_CALL, key: CALL.idempotencyKey, whole: CALL.whole };
  const lost: unknown = await sandbox.run(call).catch((error: unknown) => error);
  await sandbox.close();
  await engine.close();
  expect(lost).toBeInstanceOf(Error);
  expect(lost).not.toBeInstanceOf(Fault);
  expect(engine.seen.map(({ path }) => path).filter((path) => /kill|force/.test(path))).toEqual([]);
});

test('a container of an open call is ended at its limit, and one that stays keeps no others', async () => {
  const done: string[] = [];
  const old = { running: true, createdAt: new Date(0), removeAt: null, overdue: false };
  const sandbox: Pick<Sandbox, 'list' | 'kill' | 'remove'> = {
    list: async () => [
      { ...old, id: 'late', key: 'open', overdue: true },
      { ...old, id: 'stuck', key: 'over' },
      { ...old, id: 'left', key: 'over' },
    ],
    kill: async (id) => void done.push(`kill ${id}`),
    remove: async (id) => {
      if (id === 'stuck') throw new Error('the engine cannot remove it');
      done.push(`remove ${id}`);
    },
  };
  const fork = () => ({ execute: async () => [{ key: 'open' }] }) as unknown as EntityManager;
  await expect(removeContainers({ sandbox: sandbox as Sandbox, fork })).rejects.toThrow('cannot remove');
  expect(done).toEqual(['kill late', 'remove left']);
});

test('output that the engine cannot send in time counts as cut, if some was cut before', async () => {
  const frame = (stream: number, text: string): Buffer => {
    const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
    header.writeUInt32BE(text.length, 4);
    return Buffer.concat([header, Buffer.from(text)]);
  };
  const told: string[] = [];
  async function* output(...texts: string[]): AsyncGenerator<Uint8Array> {
    const bytes = Buffer.concat(texts.map((text, index) => frame(1 + (index % 2), text)));
    // Headers and texts arrive in any pieces.
    for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3);
    throw new Error('no more output');
  }
  const collect = (isLate: boolean, ...texts: string[]) =>
    collectOutput(
      output(...texts),
      {
        maxBytes: 5,
        isEnough: () => false,
        onOutput: (stream, part) => void told.push(`${stream}:${Buffer.from(part).toString()}`),
      },
      () => isLate,
    );
  expect(await collect(true, 'abcdefg', 'x', 'hij')).toEqual({
    stdout: 'abcde',
    stderr: 'x',
    cut: ['stdout', 'stderr'],
  });
  expect(told.join('').replaceAll(/stdout:|stderr:/g, '')).toBe('abcdefgxhij');
  await expect(collect(true, 'abc', 'x')).rejects.toThrow('no more output');
  await expect(collect(false, 'abcdefg')).rejects.toThrow('no more output');
});
