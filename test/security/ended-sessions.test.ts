/**
 * Streams and waits end with the session behind them, whichever copy of the API ends the session.
 */
import { A2AService } from '@a2a-js/sdk/server/grpc';
import {
  credentials,
  makeGenericClientConstructor,
  Metadata,
  status,
  type ServiceError,
} from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';

import { listenGrpc, type GrpcServer } from '../../api/a2a/grpc-server.ts';
import { appendEvents, serviceEvent } from '../../domain/runs/events.ts';
import { createClient, startTestApp, type Client, type TestApp } from '../support/app.ts';
import { cookiesOf, fromOwnPage, logInBrowser, withHeaders } from '../support/browser.ts';
import { insertRun } from '../support/human-tasks.ts';
import { openStream, type SseReader } from '../support/sse-client.ts';
import { allowedMs } from '../support/machine.ts';
import { until } from '../support/platform.ts';

const password = 'correct horse battery';
/** Within five seconds is promised. Without a check a stream would last as long as its token: 15 minutes. */
const soonMs = (): number => allowedMs(5_000);
let app: TestApp;
let copy: TestApp;
let admin: Client;
let grpc: GrpcServer;
let count = 0;

beforeAll(async () => {
  app = await startTestApp();
  copy = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.env.BASE_URL } });
  admin = createClient(copy.url, (await app.user('admin')).token);
  grpc = await listenGrpc(app.app.deps, { host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await grpc.stop(1_000);
  await copy.close();
  await app.close();
});

interface Person {
  id: string;
  username: string;
  token: string;
  refreshToken: string;
  runId: string;
}

async function person(): Promise<Person> {
  count += 1;
  const username = `streamer${count}`;
  const { body } = await admin.post('/users', {
    username,
    email: `${username}@example.com`,
    password,
    roles: ['builder'],
  });
  const session = (await app.anonymous.post('/auth/token', { username, password })).body;
  return {
    id: body.id,
    username,
    token: session.access_token,
    refreshToken: session.refresh_token,
    runId: await insertRun(app.orm, { owner: body.id }),
  };
}

const streamOf = (token: string, path: string): Promise<SseReader> =>
  openStream(app.url + path, { headers: { authorization: `Bearer ${token}` } });
const bothStreams = ({ token, runId }: Person): Promise<SseReader[]> =>
  Promise.all(['/events', `/runs/${runId}/events`].map((path) => streamOf(token, path)));

async function endsSoon(streams: readonly Promise<unknown>[]): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, soonMs(), false));
  return Promise.race([Promise.all(streams).then(() => true), late]);
}

const onCopy = (token: string): Client => createClient(copy.url, token);
const ways: [string, (who: Person) => Promise<unknown>][] = [
  ['log-out', (who) => onCopy(who.token).post('/auth/revoke', { token: who.refreshToken })],
  [
    'a change of the password',
    (who) =>
      onCopy(who.token).post('/users/me/password', {
        current_password: password,
        new_password: 'another long one',
      }),
  ],
  ['a reset of the password', (who) => admin.patch(`/users/${who.id}`, { password: 'another long one' })],
  ['disabling the user', (who) => admin.patch(`/users/${who.id}`, { status: 'disabled' })],
  [
    'the reuse of an old refresh token',
    async (who) => {
      for (const _ of [1, 2])
        await copy.anonymous.post('/auth/token', {
          grant_type: 'refresh_token',
          refresh_token: who.refreshToken,
        });
    },
  ],
];

// All at once: each waits for the next check of its streams.
test.concurrent.each(ways)(
  '%s on another copy ends the streams of events and of a run, and a wait for the end of a run',
  async (_way, end) => {
    const [user, bystander] = [await person(), await person()];
    const streams = await bothStreams(user);
    const [untouched] = await bothStreams(bystander);
    const waited = createClient(app.url, user.token).get(`/runs/${user.runId}`, {
      headers: { prefer: 'wait=60' },
    });
    await end(user);
    expect(await endsSoon([...streams.map(({ ended }) => ended), waited])).toBe(true);
    expect([(await waited).status, (await waited).body.code]).toEqual([401, 'invalid_token']);
    expect(await Promise.race([untouched?.ended.then(() => 'ended'), Promise.resolve('open')])).toBe('open');
    untouched?.drop();
  },
);

const cookieWays: [string, (who: Person, cookie: string) => Promise<unknown>][] = [
  ['log-out', (_who, cookie) => copyPage(cookie).delete('/console/session')],
  ['the end of all other sessions', (who) => onCopy(who.token).delete('/users/me/sessions')],
  ...ways
    .filter(([name]) => /password|disabling/.test(name))
    .map(([name, end]): [string, (who: Person) => Promise<unknown>] => [name, end]),
];
const copyPage = (cookie: string): Client => withHeaders(createClient(copy.url), { ...fromOwnPage, cookie });

test.concurrent.each(cookieWays)(
  "%s on another copy ends the streams of a browser's session",
  async (_way, end) => {
    const user = await person();
    const cookie = cookiesOf(await logInBrowser(app.url, user.username, password));
    const headers = { ...fromOwnPage, cookie };
    const streams = await Promise.all(
      ['/events', `/runs/${user.runId}/events`].map((path) => openStream(app.url + path, { headers })),
    );
    const waited = withHeaders(createClient(app.url), { ...headers, prefer: 'wait=60' }).get(
      `/runs/${user.runId}`,
    );
    await end(user, cookie);
    expect(await endsSoon([...streams.map(({ ended }) => ended), waited])).toBe(true);
    expect([(await waited).status, (await waited).body.code]).toEqual([401, 'session_ended']);
  },
);

/** Subscribes to a task over gRPC. @returns how the subscription ended, once it has. */
async function grpcStream({ token }: Person): Promise<{ ended: Promise<number> }> {
  const own = createClient(app.url, token);
  const configuration = {
    workflow_id: (
      await own.post('/workflows', { name: 'w', definition: { do: [{ a: { set: { text: 'x' } } }] } })
    ).body.id,
  };
  const agent = (
    await own.post('/agents', {
      name: 'a',
      type: 'workflow',
      version: '1.0.0',
      visibility: 'private',
      configuration,
      capabilities_streaming: true,
    })
  ).body.id;
  const params = {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
    configuration: { returnImmediately: true },
  };
  const sent = await own.post(
    `/api/v1/a2a/${agent}`,
    { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
    { headers: { 'A2A-Version': '1.0' } },
  );
  const { path, requestSerialize, responseDeserialize } = A2AService.subscribeToTask;
  const client = new (makeGenericClientConstructor({}, 'raw'))(
    `127.0.0.1:${grpc.port}`,
    credentials.createInsecure(),
  );
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  metadata.set('a2a-version', '1.0');
  const stream = client.makeServerStreamRequest(
    path,
    requestSerialize as (value: unknown) => Buffer,
    responseDeserialize,
    { tenant: agent, id: sent.body.result.task.id },
    metadata,
  );
  const ended = new Promise<number>((resolve) =>
    stream.on('error', ({ code }: ServiceError) => resolve(code)).on('end', () => resolve(status.OK)),
  );
  void ended.then(() => client.close());
  await Promise.race([
    new Promise((resolve) => stream.once('data', resolve)),
    ended.then((code) => Promise.reject(new Error(`the stream ended with ${code}`))),
  ]);
  stream.resume();
  return { ended };
}

test.concurrent.each(ways.slice(0, 4))(
  '%s on another copy ends a gRPC stream as UNAUTHENTICATED',
  async (_way, end) => {
    const user = await person();
    const { ended } = await grpcStream(user);
    await end(user);
    expect(await endsSoon([ended])).toBe(true);
    expect(await ended).toBe(status.UNAUTHENTICATED);
  },
);

test.concurrent('deleting a machine client ends its streams', async () => {
  const user = await person();
  const own = createClient(app.url, user.token);
  const { client_id, client_secret } = (await own.post('/users/me/clients', { name: 'watcher' })).body;
  const { access_token: token } = (
    await app.anonymous.post('/auth/token', { grant_type: 'client_credentials', client_id, client_secret })
  ).body;
  const streams = await bothStreams({ ...user, token });
  await onCopy(user.token).delete(`/users/me/clients/${client_id}`);
  expect(await endsSoon(streams.map(({ ended }) => ended))).toBe(true);
});

test.concurrent('a stream ends with its access token', async () => {
  const user = await person();
  const { kid, privateKey } = await app.app.deps.keys.current();
  const claims = JSON.parse(Buffer.from(user.token.split('.')[1] ?? '', 'base64url').toString());
  const token = await new SignJWT({ ...claims, exp: Math.floor(Date.now() / 1_000) + 10 })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .sign(privateKey);
  const streams = await bothStreams({ ...user, token });
  expect(await endsSoon(streams.map(({ ended }) => ended))).toBe(true);
});

test.concurrent('a stream ends when its run gets another owner or its user loses the role', async () => {
  const [user, heir] = [await person(), await person()];
  await admin.patch(`/users/${user.id}`, { roles: ['admin'] });
  const [events, run] = await bothStreams({ ...user, runId: heir.runId });
  await admin.patch(`/users/${user.id}`, { roles: ['builder'] });
  expect(await endsSoon([run?.ended ?? Promise.reject(new Error('no stream'))])).toBe(true);
  await app.orm.em.fork().transactional((em) =>
    appendEvents(em, heir.runId, {
      events: [serviceEvent({ key: 'foreign', type: 'io.cadenza.test.v1', message: 'foreign' })],
      projection: null,
      acks: [],
    }),
  );
  await app.orm.em.fork().transactional((em) =>
    appendEvents(em, user.runId, {
      events: [serviceEvent({ key: 'own', type: 'io.cadenza.test.v1', message: 'own' })],
      projection: null,
      acks: [],
    }),
  );
  const eventsOf = (runId: string) =>
    events?.events.filter(({ data }) => JSON.stringify(data).includes(runId)) ?? [];
  await until(
    async () => eventsOf(user.runId),
    ({ length }) => length > 0,
  );
  expect(eventsOf(user.runId)).toHaveLength(1);
  expect(eventsOf(heir.runId)).toHaveLength(0);
  events?.drop();
});
