/** The guard before a container engine: what reaches the engine, whoever has the guard's token. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { containerName, containerSpec, LABEL } from '../../../adapters/sandbox/container-spec.ts';
import { createEngineGuard } from '../../../adapters/sandbox/engine-guard.ts';
import { dockerConfiguration } from '../../../contracts/agent-kinds/docker.ts';
import type { SandboxSettings } from '../../../contracts/process-policy.ts';

const TOKEN = 't'.repeat(32);
const SETTINGS: SandboxSettings = {
  engine: '',
  user: '65534:65534',
  network: null,
  filesImage: 'shell:1',
  memoryMib: 64,
  cpus: 1,
  pids: 10,
  seconds: 60,
  atOnce: 1,
  keepHours: 1,
};
const POLICY = {
  scripts: true,
  containers: {
    images: ['tools:*'],
    pull: 'ifNotPresent' as const,
    network: false,
    ports: [],
    volumes: ['models'],
    shell_image: 'shell:1',
    python_image: null,
  },
};
const REQUEST = {
  key: 'call',
  title: 'work',
  image: 'tools:1',
  pull: 'never' as const,
  entrypoint: ['/bin/sh', '-c', 'echo $1', 'sh'],
  arguments: ['a=b'],
  env: { KEY: 'a=b' },
  stdin: 'in',
  ports: {},
  mounts: [{ source: 'models', target: '/models', writable: false }],
  files: [],
  keepSeconds: 5,
  timeoutMs: 0,
  outputBytes: 0,
  whole: [],
};
const NAME = containerName('own', 'call');
const SPEC = containerSpec(REQUEST, SETTINGS, 'own', []);

let folder: string;
let engine: Server;
let guard: Server;
/** The engine answers nothing before this. */
let answering = Promise.resolve();
let seen: { method: string; url: string; body: unknown }[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cadenza-guard-'));
  const socketPath = join(folder, 'engine.sock');
  engine = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '' } = request;
      const text = Buffer.concat(chunks).toString();
      seen.push({ method, url, body: text === '' ? null : (JSON.parse(text) as unknown) });
      const foreign = { Config: { Labels: {} } };
      const ours = { Config: { Labels: { [LABEL.installation]: 'own' } } };
      response.setHeader('content-type', 'application/json');
      void answering.then(() => response.end(JSON.stringify(url.includes('f'.repeat(64)) ? foreign : ours)));
    });
  }).listen(socketPath);
  guard = createEngineGuard({ socketPath, token: TOKEN, policy: POLICY, settings: SETTINGS });
  await new Promise<void>((resolve) => guard.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  for (const server of [guard, engine]) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

/** The answer's status and message, and what the engine was asked to do. */
async function ask(method: string, path: string, body?: unknown, token = TOKEN): Promise<unknown[]> {
  seen = [];
  const { port } = guard.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/v1.41${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { message } = (await response.json()) as { message?: string };
  return [response.status, message, seen.filter(({ url }) => !/containers\/[\w-]+\/json$/.test(url))];
}

const created = (body: unknown) => [{ method: 'POST', url: `/v1.41/containers/create?name=${NAME}`, body }];

test('the engine gets the container that Cadenza describes', async () => {
  const answer = await ask('POST', `/containers/create?name=${NAME}`, SPEC);
  expect(answer).toEqual([200, undefined, created(SPEC)]);
});

test('a container may have less than the installation allows, and another user', async () => {
  const less = {
    ...SPEC,
    User: '4321:4321',
    NetworkDisabled: true,
    HostConfig: {
      ...(SPEC['HostConfig'] as object),
      NetworkMode: 'none',
      PortBindings: {},
      Memory: 8 * 1024 * 1024,
      MemorySwap: 8 * 1024 * 1024,
      NanoCpus: 250_000_000,
      PidsLimit: 2,
    },
    ExposedPorts: {},
  };
  expect(await ask('POST', `/containers/create?name=${NAME}`, less)).toEqual([200, undefined, created(less)]);
});

test('a container cannot have so little that it would be no limit', async () => {
  const host = SPEC['HostConfig'] as object;
  const none = {
    ...SPEC,
    HostConfig: { ...host, Memory: 0.4, MemorySwap: 0.4, NanoCpus: 0.4, PidsLimit: 0.4 },
  };
  const Memory = 8 * 1024 * 1024;
  const least = { Memory, MemorySwap: Memory, NanoCpus: 10_000_000, PidsLimit: 1 };
  const answer = await ask('POST', `/containers/create?name=${NAME}`, none);
  expect(answer).toEqual([200, undefined, created({ ...SPEC, HostConfig: { ...host, ...least } })]);
  const problems = (configuration: object) =>
    dockerConfiguration.safeParse(configuration).error?.issues.map(({ path }) => path.join('.')) ?? [];
  expect(problems({ memory: 1e-7, cpus: 1e-10 })).toEqual(['memory', 'cpus']);
  expect(problems({ memory: '100k' })).toEqual(['memory']);
  expect(problems({ memory: '8m', cpus: 0.01 })).toEqual([]);
});

test('nothing that a caller adds or raises reaches the engine', async () => {
  const hostile = {
    ...SPEC,
    User: '0:0',
    NetworkDisabled: false,
    Privileged: true,
    HostConfig: {
      ...(SPEC['HostConfig'] as object),
      Privileged: true,
      CapAdd: ['ALL'],
      CapDrop: [],
      NetworkMode: 'host',
      PidMode: 'host',
      ReadonlyRootfs: false,
      Memory: 0,
      Devices: [{ PathOnHost: '/dev/sda' }],
      Mounts: [{ Type: 'bind', Source: '/', Target: '/host' }],
      VolumesFrom: ['another'],
      SecurityOpt: ['seccomp=unconfined'],
    },
  };
  expect(await ask('POST', `/containers/create?name=${NAME}`, hostile)).toEqual([
    200,
    undefined,
    created(SPEC),
  ]);
});

test.each([
  ['an image', { ...SPEC, Image: 'alpine' }, 'the image alpine may not run here (SANDBOX_IMAGES)'],
  [
    'a volume',
    { ...SPEC, HostConfig: { Binds: ['/:/host:rw'] } },
    'the volume / may not be mounted here (SANDBOX_VOLUMES)',
  ],
  [
    'a port',
    { ...SPEC, HostConfig: { PortBindings: { '80/tcp': [{ HostPort: '80' }] } } },
    expect.stringContaining('the port 80 '),
  ],
  ['no label', { ...SPEC, Labels: {} }, 'a container needs the labels of Cadenza'],
  [
    'another name',
    { ...SPEC, Labels: { ...(SPEC['Labels'] as object), [LABEL.key]: 'other' } },
    'the name of the container does not fit its labels',
  ],
])('a container with %s that the guard does not know is refused', async (_what, body, message) => {
  expect(await ask('POST', `/containers/create?name=${NAME}`, body)).toEqual([403, message, []]);
});

test.each([
  ['POST', `/containers/${NAME}/exec`],
  ['GET', '/containers/json?all=1'],
  ['GET', '/info'],
  ['GET', '/images/json'],
  ['GET', '/images/alpine/json'],
  ['GET', '/distribution/alpine/json'],
  ['POST', '/images/create?fromImage=alpine&tag=latest'],
  ['POST', '/images/create?fromSrc=http://example.com/image.tar'],
  ['POST', '/containers/../build'],
  ['POST', '/volumes/create'],
  ['PUT', `/containers/${NAME}-files/archive?path=/`],
  ['GET', `/containers/${NAME}/archive?path=/files/out`],
  ['DELETE', `/containers/${'f'.repeat(64)}?force=1`],
  ['POST', `/containers/${'f'.repeat(64)}/kill`],
])('%s %s is refused', async (method, path) => {
  expect(await ask(method, path)).toEqual([403, expect.any(String), []]);
});

test('without the token nothing passes', async () => {
  for (const token of ['', 'x'.repeat(32)])
    expect(await ask('GET', '/version', undefined, token)).toEqual([401, 'the token is wrong', []]);
});

test('what Cadenza asks passes, with its own parameters only', async () => {
  const urlOf = async (method: string, path: string): Promise<unknown> => {
    const [status, , asked] = await ask(method, path);
    expect(status).toBe(200);
    return (asked as typeof seen).map(({ url }) => url.replace('/v1.41', ''));
  };
  expect(await urlOf('GET', '/version')).toEqual(['/version']);
  expect(await urlOf('DELETE', `/containers/${NAME}?force=1&v=1&link=1`)).toEqual([
    `/containers/${NAME}?force=1&v=1`,
  ]);
  expect(await urlOf('GET', `/containers/${NAME}/logs?follow=1&stdout=1&tail=1`)).toEqual([
    `/containers/${NAME}/logs?follow=1&stdout=1&stderr=1`,
  ]);
  expect(await urlOf('GET', '/distribution/tools%3A2/json')).toEqual(['/distribution/tools%3A2/json']);
  expect(await urlOf('POST', '/images/create?fromImage=tools&tag=2&fromSrc=x')).toEqual([
    '/images/create?fromImage=tools&tag=2',
  ]);
});

test('a body where none belongs does not reach the engine as a request of its own', async () => {
  const { port } = guard.address() as AddressInfo;
  const hidden =
    'POST /v1.41/containers/create?name=host HTTP/1.1\r\nhost: engine\r\ncontent-length: 2\r\n\r\n{}';
  seen = [];
  for (const [method, path] of [
    ['GET', '/version'],
    ['DELETE', `/containers/${NAME}`],
    ['GET', '/version?last'],
  ] as const) {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-length': hidden.length };
    const sent = send({ port, method, path: `/v1.41${path}`, headers }).end(hidden);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
  }
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /v1.41/version',
    `GET /v1.41/containers/${NAME}/json`,
    `DELETE /v1.41/containers/${NAME}?force=1&v=1`,
    'GET /v1.41/version',
  ]);
});

test('a caller that breaks off while it is attached does no harm to others', async () => {
  const { port } = guard.address() as AddressInfo;
  let answer = (): void => {};
  answering = new Promise((resolve) => (answer = resolve));
  seen = [];
  const accepted = once(guard, 'connection') as Promise<[Socket]>;
  const caller = connect(port, '127.0.0.1');
  caller.write(
    `POST /v1.41/containers/${NAME}/attach?stream=1&stdin=1 HTTP/1.1\r\nhost: guard\r\n` +
      `authorization: Bearer ${TOKEN}\r\nconnection: upgrade\r\nupgrade: tcp\r\n\r\n`,
  );
  const [socket] = await accepted;
  while (seen.length === 0) await new Promise(setImmediate);
  // Without a listener for its error.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  caller.resetAndDestroy();
  await closed;
  answer();
  expect((await ask('GET', '/version'))[0]).toBe(200);
});
