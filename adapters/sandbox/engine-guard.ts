/**
 * Stands between the workers and the socket of a container engine. The socket makes its holder root on the
 * host. The guard's token only allows running what the installation's policy allows, with its limits, and
 * seeing and ending such containers. The guard has no other access: no database, no Temporal, no keys.
 *
 * It accepts only the requests that containers.ts makes, and sends the engine its own container descriptions,
 * made by the same function from what is free in the caller's.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { USER } from '../../contracts/agent-kinds/docker.ts';
import { isRecord } from '../../contracts/is-record.ts';
import {
  limited,
  refusals,
  tagged,
  type ProcessPolicy,
  type SandboxSettings,
  type WantedLimits,
} from '../../contracts/process-policy.ts';
import { FOLDER, keeperSpec } from './container-files.ts';
import { containerName, containerSpec, keeperName, LABEL } from './container-spec.ts';
import { API_VERSION } from './engine-api.ts';

export interface GuardOptions {
  /** Of the engine. */
  socketPath: string;
  /** At least 32 characters. */
  token: string;
  policy: ProcessPolicy;
  settings: SandboxSettings;
  /** Told what was refused. */
  refused?: (what: string) => void;
}

/** Of the description of a container: its arguments and environment may be large. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MIB = 1024 * 1024;
const CONTAINER = /^\/containers\/(cadenza-[0-9a-f]{40}(?:-files)?|[0-9a-f]{64})(?:\/([a-z]+))?$/;

/** A request that may not pass; the message is for the caller. */
class Refused extends Error {
  readonly status: number;

  constructor(message: string, status = 403) {
    super(message);
    this.status = status;
  }
}

export function createEngineGuard(options: GuardOptions): Server {
  const server = createServer((request, response) => {
    void passOn(options, request)
      .then(async ({ body, path }) => {
        const answer = await ask(options, request, response, path, body);
        response.writeHead(answer.statusCode ?? 502, {
          'content-type': answer.headers['content-type'] ?? '',
        });
        // Otherwise a quiet container's log would begin with its first line.
        response.flushHeaders();
        await pipeline(answer, response);
      })
      .catch((error: unknown) => {
        if (response.headersSent) return void response.destroy();
        const status = error instanceof Refused ? error.status : 502;
        if (error instanceof Refused) options.refused?.(`${request.method} ${request.url}: ${error.message}`);
        const message = error instanceof Refused ? error.message : 'the engine does not answer';
        response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
        response.end(JSON.stringify({ message }));
      });
  });
  server.on('upgrade', (request, socket: Duplex, head: Buffer) => {
    void attach(options, request, socket, head).catch(() => socket.destroy());
  });
  return server;
}

/** What goes to the engine; without a body, that of an archive. @throws Refused */
async function passOn(
  options: GuardOptions,
  request: IncomingMessage,
): Promise<{ path: string; body: Buffer | null }> {
  checkToken(options, request);
  const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://guard');
  const prefix = `${API_VERSION}/`;
  if (!pathname.startsWith(prefix)) throw new Refused('another version of the API', 404);
  const path = pathname.slice(API_VERSION.length);
  const method = request.method ?? '';
  if (method === 'GET' && path === '/version') return { path, body: null };
  if (method === 'GET' && path === '/containers/json') return { path: listPath(query), body: null };
  if (method === 'POST' && path === '/containers/create')
    return createPath(options, query, await readBody(request));
  if (method === 'POST' && path === '/images/create') return { path: pullPath(options, query), body: null };
  const [, about, image] = /^\/(images|distribution)\/([^/]+)\/json$/.exec(path) ?? [];
  if (method === 'GET' && image !== undefined) {
    checkImage(options, decodeURIComponent(image));
    if (about === 'distribution') checkPulls(options);
    return { path, body: null };
  }
  const [, id = '', action = ''] = CONTAINER.exec(path) ?? [];
  if (id === '') throw new Refused('not a request of Cadenza');
  const passed = containerPath(method, id, action, query);
  await checkOurs(options, id);
  return { path: passed, body: null };
}

function checkToken({ token }: GuardOptions, { headers }: IncomingMessage): void {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const given = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  if (!timingSafeEqual(digest(given), digest(token))) throw new Refused('the token is wrong', 401);
}

/** Only lists of one installation's containers. */
function listPath(query: URLSearchParams): string {
  const asked: unknown = parsed(query.get('filters') ?? '');
  const labels: unknown = isRecord(asked) ? asked['label'] : null;
  const [only, ...others]: unknown[] = Array.isArray(labels) ? labels : [];
  if (typeof only !== 'string' || others.length > 0 || !only.startsWith(`${LABEL.installation}=`))
    throw new Refused('a list needs the label of an installation');
  const filters = JSON.stringify({ label: [only] });
  return `/containers/json?all=1&filters=${encodeURIComponent(filters)}`;
}

function pullPath(options: GuardOptions, query: URLSearchParams): string {
  const [name, tag] = [query.get('fromImage') ?? '', query.get('tag')];
  checkImage(options, tag === null ? name : `${name}:${tag}`);
  checkPulls(options);
  const version = tag === null ? '' : `&tag=${encodeURIComponent(tag)}`;
  return `/images/create?fromImage=${encodeURIComponent(name)}${version}`;
}

function checkPulls({ policy }: GuardOptions): void {
  if (policy.containers?.pull === 'never') throw new Refused('images are not pulled here');
}

/** What may be done with a container, and with which parameters. */
function containerPath(method: string, id: string, action: string, query: URLSearchParams): string {
  const at = `/containers/${id}`;
  const isKeeper = id.endsWith('-files');
  switch (`${method} ${action}`) {
    case 'GET json':
      return `${at}/json`;
    case 'POST start':
    case 'POST kill':
      return `${at}/${action}`;
    case 'POST wait':
      return `${at}/wait?condition=not-running`;
    case 'GET logs':
      return `${at}/logs?follow=${query.get('follow') === '1' ? 1 : 0}&stdout=1&stderr=1`;
    case 'DELETE ':
      return `${at}?force=1&v=1`;
    case 'PUT archive':
    case 'GET archive': {
      const folder = method === 'PUT' ? FOLDER : `${FOLDER}/out`;
      if (isKeeper && query.get('path') === folder) return `${at}/archive?path=${folder}`;
      break;
    }
    default:
  }
  throw new Refused('not a request of Cadenza');
}

/** @throws Refused for a container that Cadenza did not create */
async function checkOurs(options: GuardOptions, id: string): Promise<void> {
  const answer = await askText(options, `/containers/${id}/json`);
  if (answer.status === 404) return;
  const body: unknown = parsed(answer.text);
  const config = isRecord(body) ? body['Config'] : null;
  const labels = isRecord(config) ? config['Labels'] : null;
  if (!isRecord(labels) || typeof labels[LABEL.installation] !== 'string')
    throw new Refused('not a container of Cadenza');
}

function checkImage({ policy, settings }: Pick<GuardOptions, 'policy' | 'settings'>, image: string): void {
  const { containers } = policy;
  const own = [containers?.shell_image, containers?.python_image, settings.filesImage];
  if (own.some((one) => typeof one === 'string' && tagged(one) === tagged(image))) return;
  const [refusal] = refusals('container', { image }, policy, true);
  if (refusal) throw new Refused(refusal.message);
}

/** The guard's own description of the container that the caller describes. */
function createPath(
  options: GuardOptions,
  query: URLSearchParams,
  text: string,
): { path: string; body: Buffer } {
  const body: unknown = parsed(text);
  if (!isRecord(body) || !isRecord(body['Labels'])) throw new Refused('no description of a container', 400);
  const { [LABEL.installation]: installationId, [LABEL.key]: key, [LABEL.title]: title } = body['Labels'];
  if (typeof installationId !== 'string' || typeof key !== 'string' || typeof title !== 'string')
    throw new Refused('a container needs the labels of Cadenza');
  const name = containerName(installationId, key);
  const path = `/containers/create?name=${query.get('name') ?? ''}`;
  const of = { installationId, key, title };
  if (query.get('name') === keeperName(name))
    return { path, body: Buffer.from(JSON.stringify(keeperSpec(of, options.settings))) };
  if (query.get('name') !== name) throw new Refused('the name of the container does not fit its labels');
  return { path, body: Buffer.from(JSON.stringify(specOf(options, body, of))) };
}

function specOf(
  options: GuardOptions,
  body: Record<string, unknown>,
  { installationId, key, title }: { installationId: string; key: string; title: string },
): Record<string, unknown> {
  const { policy, settings } = options;
  const host = isRecord(body['HostConfig']) ? body['HostConfig'] : {};
  const image = String(body['Image']);
  checkImage(options, image);
  const ports = portsIn(host['PortBindings']);
  const mounts = textsIn(host['Binds'] ?? []).map((bind) => {
    const [source = '', target = ''] = bind.split(':');
    return { source, target, writable: policy.containers?.volumes.includes(`${source}:rw`) === true };
  });
  const volumes = Object.fromEntries(mounts.map(({ source, target }) => [source, target]));
  // The image was checked, and may be the installation's own.
  const [refusal] = refusals('container', { image, ports, volumes }, policy, true).filter(
    ({ key: part }) => part !== 'image',
  );
  if (refusal) throw new Refused(refusal.message);
  if (mounts.some(({ target }) => !/^\/[^:]*$/.test(target))) throw new Refused('a volume needs a folder');
  return containerSpec(
    {
      key,
      title,
      image,
      pull: 'never',
      ...(body['Entrypoint'] === undefined ? {} : { entrypoint: textsIn(body['Entrypoint']) }),
      arguments: textsIn(body['Cmd'] ?? []),
      env: Object.fromEntries(
        textsIn(body['Env'] ?? []).map((pair) => {
          const equals = pair.indexOf('=');
          return [pair.slice(0, equals), pair.slice(equals + 1)];
        }),
      ),
      stdin: body['OpenStdin'] === true ? '' : null,
      ports,
      mounts,
      files: host['VolumesFrom'] === undefined ? null : [],
      keepSeconds: Number(isRecord(body['Labels']) ? body['Labels'][LABEL.keepSeconds] : 0) || 0,
      timeoutMs: 0,
      outputBytes: 0,
      whole: [],
    },
    limited(settings, limitsIn(body, host)),
    installationId,
    [],
  );
}

/** A container may have less than the installation allows, and another user than usual, but not root. */
function limitsIn(
  { User: user }: Record<string, unknown>,
  { NetworkMode: network, Memory: bytes, NanoCpus: nanoCpus, PidsLimit: pids }: Record<string, unknown>,
): WantedLimits {
  return {
    ...(typeof user === 'string' && USER.test(user) ? { user } : {}),
    network: network !== 'none',
    memoryMib: Number(bytes) / MIB,
    cpus: Number(nanoCpus) / 1e9,
    pids: Number(pids),
  };
}

/** Port of the host → port of the container. */
function portsIn(bindings: unknown): Record<string, string> {
  const ports: Record<string, string> = {};
  for (const [inside, hosts] of Object.entries(isRecord(bindings) ? bindings : {}))
    for (const host of Array.isArray(hosts) ? (hosts as unknown[]) : [])
      if (isRecord(host)) ports[String(host['HostPort'])] = inside.replace(/\/tcp$/, '');
  return ports;
}

function textsIn(value: unknown): string[] {
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw new Refused('no description of a container', 400);
  return value;
}

/** The connection to the standard input of a container. */
async function attach(
  options: GuardOptions,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  // The server does not look after the connection any more.
  socket.on('error', () => socket.destroy());
  checkToken(options, request);
  const { pathname } = new URL(request.url ?? '', 'http://guard');
  const [, id = '', action] = CONTAINER.exec(pathname.slice(API_VERSION.length)) ?? [];
  if (request.method !== 'POST' || action !== 'attach' || id === '') throw new Refused('only attach');
  await checkOurs(options, id);
  const upgrade = send({
    socketPath: options.socketPath,
    method: 'POST',
    path: `${API_VERSION}/containers/${id}/attach?stream=1&stdin=1`,
    headers: { connection: 'Upgrade', upgrade: 'tcp', host: 'engine' },
  });
  upgrade.on('error', () => socket.destroy());
  upgrade.on('response', () => socket.destroy());
  upgrade.on('upgrade', (_answer, engine, rest) => {
    engine.on('error', () => engine.destroy());
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    if (rest.length > 0) socket.write(rest);
    if (head.length > 0) engine.write(head);
    for (const [from, to] of [
      [socket, engine],
      [engine, socket],
    ] as const)
      void pipeline(from, to).catch(() => to.destroy());
  });
  upgrade.end();
}

function ask(
  { socketPath }: GuardOptions,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  body: Buffer | null,
): Promise<IncomingMessage> {
  const headers = {
    host: 'engine',
    ...(request.headers['content-type'] === undefined
      ? {}
      : { 'content-type': request.headers['content-type'] }),
    ...(body === null ? {} : { 'content-length': body.length }),
  };
  return new Promise((resolve, reject) => {
    const sent = send({ socketPath, method: request.method, path: API_VERSION + path, headers }, resolve);
    sent.on('error', reject);
    // The caller has its answer, or gave up.
    response.once('close', () => sent.destroy());
    // Only an archive has a body. Any other would reach the engine as a request of its own.
    if (body === null && request.method === 'PUT') request.pipe(sent);
    else sent.end(body ?? undefined);
  });
}

function askText({ socketPath }: GuardOptions, path: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = send({ socketPath, method: 'GET', path: API_VERSION + path }, (answer) => {
      readBody(answer).then((text) => resolve({ status: answer.statusCode ?? 502, text }), reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Refused('too large', 413);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
