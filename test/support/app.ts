/** The real API on a real database, for tests of endpoints. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';

import { listenGrpc, type GrpcServer } from '../../api/a2a/grpc-server.ts';
import { createApp, type App, type CreateAppOptions } from '../../api/app.ts';
import { createHttpServer, serve } from '../../api/http-server.ts';
import { parseEnv, type Env } from '../../config/env.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import {
  listenForAccountChanges,
  listenForJobs,
  listenForNotifications,
  type Notifications,
} from '../../db/notifications.ts';
import { createRunEventWatcher } from '../../db/run-event-watcher.ts';
import { FIRST_PARTY_CLIENT, signAccessToken } from '../../domain/auth/access-token.ts';
import type { Role } from '../../contracts/roles.ts';
import { ownServers } from '../../config/own-servers.ts';
import { createChatSender } from '../../adapters/notify/chat-sender.ts';
import { loadTemplates } from '../../domain/notifications/load-templates.ts';
import { createMailer } from '../../adapters/notify/smtp.ts';
import { guardSecrets } from '../../adapters/secrets/guard-secrets.ts';
import { createAgentSources } from '../../adapters/resources/create-agent-sources.ts';
import { createIdentityProviders } from '../../adapters/identity/create-identity-providers.ts';
import { createResourceFetcher } from '../../adapters/resources/create-resource-fetcher.ts';
import { createLocalFileStore } from '../../adapters/file-stores/local-file-store.ts';
import { TemporalUnavailable, type TemporalGateway } from '../../domain/ports.ts';
import { closeInSteps, connectionsOf } from './closing.ts';
import { runFolder } from './run-folder.ts';
import { createTestDatabase } from './servers.ts';

export interface TestUser {
  id: string;
  username: string;
  roles: Role[];
  groups: string[];
  /** An access token like that of a log-in. */
  token: string;
}

export interface Reply {
  status: number;
  headers: Headers;
  /** Parsed JSON, text of other types, or null without a body. */
  body: any; // tests look into answers freely
}

interface RequestOptions {
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Client {
  get(path: string, options?: RequestOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: RequestOptions): Promise<Reply>;
  put(path: string, body?: unknown, options?: RequestOptions): Promise<Reply>;
  patch(path: string, body?: unknown, options?: RequestOptions): Promise<Reply>;
  delete(path: string, options?: RequestOptions): Promise<Reply>;
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
}

export interface TestApp {
  app: App;
  orm: Orm;
  env: Env;
  url: string;
  databaseUrl: string;
  /** Sends no token. */
  anonymous: Client;
  /** A client of a user; a role means one user of that role, created at first use. */
  as(who: Role | TestUser): Promise<Client>;
  /** The user behind `as(role)`. */
  user(role: Role): Promise<TestUser>;
  createUser(options?: { username?: string; roles?: Role[]; groups?: string[] }): Promise<TestUser>;
  close(): Promise<void>;
}

export interface TestAppOptions extends Partial<
  Pick<
    CreateAppOptions,
    'temporal' | 'endpoints' | 'payloadCodec' | 'strictResponses' | 'files' | 'consoleFolder'
  >
> {
  /** Settings that override the defaults. */
  env?: Record<string, string>;
  /** Name of this machine in the app's address; default 127.0.0.1. Passkeys need a name. */
  host?: 'localhost';
  /** The database of another copy of the API, which is not dropped at the end. */
  databaseUrl?: string;
  encryptionKeys?: string;
  /** Default: nothing is logged, but for `TEST_LOG`. */
  logger?: Logger;
  /**
   * Keeps callers for a second, as in production. Otherwise a test may change users by SQL and ask at once.
   * `without news`: as if all notifications of changes were late, so that what this process did has to count
   * by itself.
   */
  keepsCallers?: boolean | 'without news';
}

/** Temporal is unreachable: nothing starts, no signal is sent, rows wait for the reconciler. */
export const noTemporal: TemporalGateway = {
  start: async () => away(),
  signal: async () => away(),
  cancel: async () => away(),
  terminate: async () => away(),
  describe: async () => away(),
  removeHistory: async () => away(),
  namespaceId: async () => away(),
  historyRetentionMs: async () => away(),
  closeReason: async () => away(),
  abnormallyClosed: async () => away(),
  workflowTaskAttempt: async () => away(),
  troubled: async () => away(),
  putSchedule: async () => away(),
  deleteSchedule: async () => away(),
  nextTimes: async () => away(),
  timesBetween: async () => away(),
  ping: async () => false,
  checkContainer: async () => away(),
  wakeDelivery: async () => away(),
};

function away(): never {
  throw new TemporalUnavailable('no Temporal in this test');
}

/** A connection for notifications on which none arrives. */
const noNews: Notifications = { isConnected: true, subscribe: () => {}, stop: async () => {} };

/** The same for every app of a test run, so that copies on one database can read each other's secrets. */
export const testKeys = `test:${randomBytes(32).toString('base64')}`;

/** Starts the API on a separate port and a separate, migrated database. Close it in `afterAll`. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const database = options.databaseUrl ? null : await createTestDatabase();
  const databaseUrl = options.databaseUrl ?? database?.url ?? '';
  const server = createHttpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  const url = `http://${options.host ?? '127.0.0.1'}:${(server.address() as AddressInfo).port}`;
  // Tests send many requests from one address.
  const parsed = parseEnv({
    RATE_LIMIT_ADDRESS_PER_MINUTE: '0',
    BASE_URL: url,
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEYS: options.encryptionKeys ?? testKeys,
    FILES_DIR: filesOf(databaseUrl),
    ...options.env,
  });
  if ('problems' in parsed) {
    throw new Error(JSON.stringify(parsed.problems));
  }
  const { env } = parsed;
  const orm = createOrm({ url: databaseUrl, ...patience });
  const logger = options.logger ?? pino({ level: process.env['TEST_LOG'] ?? 'silent' });
  const egress = { allow: env.EGRESS_ALLOW, hostMap: env.EGRESS_HOST_MAP, own: ownServers(env) };
  const resources = createResourceFetcher(egress);
  const sources = createAgentSources(egress);
  const identities = createIdentityProviders({ ...egress, keysCoolMs: 200 });
  const app = createApp({
    files: options.files ?? createLocalFileStore(env.FILES_DIR),
    resources,
    sources,
    identities,
    newJobs: listenForJobs(databaseUrl, logger),
    newNotifications: listenForNotifications(databaseUrl, logger),
    mailer: { mailer: createMailer(env), templates: loadTemplates(env.NOTIFY_TEMPLATES) },
    sender: createChatSender(egress),
    guardSecrets,
    orm,
    env,
    logger,
    runEvents: createRunEventWatcher(databaseUrl, logger),
    temporal: options.temporal ?? noTemporal,
    ...(options.keepsCallers === true
      ? { accountChanges: listenForAccountChanges(databaseUrl, logger) }
      : options.keepsCallers === 'without news'
        ? { accountChanges: noNews }
        : {}),
    ...(options.payloadCodec ? { payloadCodec: options.payloadCodec } : {}),
    strictResponses: options.strictResponses ?? true,
    ...(options.endpoints ? { endpoints: options.endpoints } : {}),
    ...(options.consoleFolder ? { consoleFolder: options.consoleFolder } : {}),
  });
  serve(server, app.koa);
  const grpcPort = env.A2A_GRPC_PORT ?? 'off';
  const grpc: GrpcServer | null =
    grpcPort === 'off' ? null : await listenGrpc(app.deps, { host: '127.0.0.1', port: grpcPort });

  const ofRole = new Map<Role, Promise<TestUser>>();
  const createUser: TestApp['createUser'] = (given = {}) => insertUser(app, given);
  const user = (role: Role) => {
    const known = ofRole.get(role) ?? createUser({ username: `the-${role}`, roles: [role] });
    ofRole.set(role, known);
    return known;
  };
  return {
    app,
    orm,
    env,
    url,
    databaseUrl,
    createUser,
    user,
    anonymous: createClient(url),
    as: async (who) => createClient(url, (typeof who === 'string' ? await user(who) : who).token),
    close: () => {
      const connections = (): Promise<unknown> => connectionsOf(databaseUrl);
      return closeInSteps([
        // Before the database goes: a listener that connects while it is dropped waits for the drop.
        { name: 'app.stop', work: () => app.stop(), details: connections },
        { name: 'grpc.stop', work: async () => grpc?.stop(5_000) },
        { name: 'server.close', work: () => closeServer(server), details: () => connectionCount(server) },
        { name: 'resources.close', work: () => resources.close() },
        { name: 'sources.close', work: () => sources.close() },
        { name: 'identities.close', work: async () => identities.close() },
        { name: 'orm.close', work: () => orm.close(true), details: connections },
        { name: 'database.drop', work: async () => database?.drop(), details: connections },
      ]);
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

function connectionCount(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}

/** For a database that answers many tests at once, and statements that insert a hundred thousand rows. */
export const patience = { connectionTimeoutMs: 120_000, statementTimeoutMs: 240_000 };

/** Copies of the API on one database share their files; the folder is removed with that of the test run. */
export function filesOf(databaseUrl: string): string {
  return join(runFolder(), `files-${databaseUrl.split('/').at(-1) ?? ''}`);
}

/** Creates a user with a session, without the cost of hashing and checking a password. */
async function insertUser(
  app: App,
  given: { username?: string; roles?: Role[]; groups?: string[] },
): Promise<TestUser> {
  const { orm, env, keys } = app.deps;
  const id = uuidv7();
  const sid = uuidv7();
  const user = {
    username: given.username ?? `user-${BigInt(`0x${id.slice(-12)}`)}`,
    roles: given.roles ?? ['builder' as const],
    groups: given.groups ?? [],
  };
  const em = orm.em.fork();
  await em.execute(
    `insert into user_account (id, username, email, password_hash, roles, groups)
     values (?, ?, ?, ?, ?::text[], ?::text[])`,
    [
      id,
      user.username,
      `${user.username}@example.com`,
      'none',
      textArray(user.roles),
      textArray(user.groups),
    ],
  );
  await em.execute(
    `insert into auth_session (id, user_id, expires_at) values (?, ?, now() + interval '1 day')`,
    [sid, id],
  );
  const token = await signAccessToken(keys, env.BASE_URL, {
    sub: id,
    sid,
    client_id: FIRST_PARTY_CLIENT,
    epoch: 1,
    // A file may take longer than a log-in counts as fresh.
    auth_time: Math.floor(Date.now() / 1_000) + 3_600,
    scope: user.roles.join(' '),
    jti: uuidv7(),
  });
  return { id, ...user, token };
}

function textArray(values: readonly string[]): string {
  return `{${values.map((value) => JSON.stringify(value)).join(',')}}`;
}

/**
 * A small HTTP client. Paths are relative to the app's address; bodies are sent as JSON unless they are text
 * or bytes.
 */
export function createClient(baseUrl: string, token?: string): Client {
  const request: Client['request'] = async (method, path, options = {}) => {
    const raw = typeof options.body === 'string' || options.body instanceof Uint8Array;
    const response = await fetch(URL.canParse(path) ? path : baseUrl + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body === undefined
        ? {}
        : { body: raw ? (options.body as string) : JSON.stringify(options.body) }),
    });
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : isJson ? JSON.parse(text) : text,
    };
  };
  const withBody =
    (method: string) =>
    (path: string, body?: unknown, options: RequestOptions = {}) =>
      request(method, path, { ...options, body });
  return {
    request,
    get: (path, options) => request('GET', path, options),
    post: withBody('POST'),
    put: withBody('PUT'),
    patch: withBody('PATCH'),
    delete: (path, options) => request('DELETE', path, options),
  };
}
