/** `call: asyncapi` with real brokers: NATS, RabbitMQ and Kafka. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { faultOf } from '../support/agent-call.ts';
import { callAsync, serveDocuments, type AsyncCallOptions } from '../support/asyncapi.ts';
import { startKafka, type Kafka } from '../support/brokers/kafka.ts';
import { startNats, type NatsServers } from '../support/brokers/nats-server.ts';
import { startRabbitMq, type RabbitMq } from '../support/brokers/rabbitmq.ts';
import type { TestServer } from '../support/http-server.ts';
import { skip } from '../support/outside.ts';
import { endOf, startRun, startTestPlatform, until, type RunRecord } from '../support/platform.ts';
import { startProgram } from '../support/programs.ts';
import { inTrace, TRACEPARENT } from '../support/trace.ts';

const [nats, rabbit, kafka] = await Promise.all([startNats(), startRabbitMq(), startKafka()]);

type Channels = Record<string, unknown>;

/** A document of 3.0 with an operation for each channel, of the same name. */
const version3 = (server: Record<string, unknown>, channels: Channels, components: object = {}) => ({
  asyncapi: '3.0.0',
  servers: { main: { host: '127.0.0.1', ...server } },
  channels,
  operations: Object.fromEntries(
    Object.keys(channels).map((name) => [name, { action: 'send', channel: { $ref: `#/channels/${name}` } }]),
  ),
  components,
});
const basic = { basic: { use: 'BROKER' } };
const as = (username: string, password: string, more: AsyncCallOptions = {}): AsyncCallOptions => ({
  ...more,
  secrets: { BROKER: JSON.stringify({ username, password }) },
});
const payloads = (messages: { payload: unknown }[]) => messages.map(({ payload }) => payload);

/** Sends until a subscription, which only sees what is sent after it, has enough. */
async function whileSending<T>(
  following: Promise<T>,
  send: () => Promise<unknown>,
  pauseMs = 100,
): Promise<T> {
  let isOver = false;
  const over = following.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  while (!isOver) {
    await send();
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, pauseMs))]);
  }
  return following;
}

let killed: Promise<RunRecord>;
// It takes as long as all others together, because Temporal has to notice; so it runs beside them.
beforeAll(() => {
  if (typeof rabbit === 'string') return;
  killed = runWithKilledWorker(rabbit);
  killed.catch(() => undefined);
});

if (typeof nats === 'string') skip('NATS', nats);
else withNats(nats);
if (typeof kafka === 'string') skip('Kafka', kafka);
else withKafka(kafka);
if (typeof rabbit === 'string') skip('RabbitMQ', rabbit);
else withRabbitMq(rabbit);

function withNats(broker: NatsServers): void {
  describe('NATS', () => {
    let documents: TestServer;
    const channels = {
      orders: {
        address: 'orders.{region}.new',
        parameters: { region: { location: '$message.payload#/region' } },
      },
      secret: { address: 'secret.plans' },
      work: { address: 'work', bindings: { nats: {} } },
    };
    beforeAll(async () => {
      const version2 = {
        asyncapi: '2.6.0',
        servers: { main: { url: `tls://localhost:${broker.tlsPort}`, protocol: 'nats' } },
        channels: { told: { subscribe: { operationId: 'hear' }, publish: { operationId: 'tell' } } },
      };
      const host = `127.0.0.1:${broker.port}`;
      const shared = version3({ host, protocol: 'nats' }, channels);
      documents = await serveDocuments({
        plain: { ...shared, operations: { ...shared.operations, take: takes('work') } },
        tls: version2,
      });
    });
    const takes = (name: string) => ({
      action: 'receive',
      channel: { $ref: `#/channels/${name}` },
      bindings: { nats: { queue: 'workers' } },
    });
    afterAll(async () => {
      await documents.close();
      await broker.stop();
    });
    const call = (operation: string, more: object, options: AsyncCallOptions = {}) =>
      callAsync(
        { document: { endpoint: `${documents.url}/plain` }, operation, authentication: basic, ...more },
        { ...as('ada', 'password-of-nats'), ...options },
      );

    test('messages have headers, and a subscription takes any value of a parameter', async () => {
      const message = { payload: { region: 'north', n: 1 }, headers: { 'x-kind': 'test' } };
      const following = call('orders', {
        subscription: { filter: '.payload.n == 1', consume: { amount: 1 } },
      });
      const received = await whileSending(following, () => inTrace(() => call('orders', { message })));
      const headers = { ...message.headers, traceparent: TRACEPARENT };
      expect(received).toEqual([{ payload: message.payload, headers }]);
      const climbing = { payload: { region: 'north.secret' } };
      expect((await faultOf(call('orders', { message: climbing }))).detail).toContain(
        'no part of an address',
      );
      const broken = { payload: { region: 'north' }, headers: { x: 'a\r\nb: c' } };
      expect((await faultOf(call('orders', { message: broken }))).detail).toContain('NATS cannot send');
    });

    test('members of a group share what comes', async () => {
      const subscription = { consume: { amount: 10, for_ms: 2_000 } };
      const members = [call('take', { subscription }), call('take', { subscription })];
      let n = 0;
      const both = Promise.all(members);
      await whileSending(both, () => call('work', { message: { payload: { n: n++ } } }), 20);
      const all = (await both).flat().map(({ payload }: { payload: { n: number } }) => payload.n);
      expect(all.length).toBeGreaterThan(1);
      expect(new Set(all).size).toBe(all.length);
    });

    test('wrong credentials, forbidden subjects and large messages are named', async () => {
      const message = { payload: { n: 1 } };
      expect(await faultOf(call('work', { message }, as('ada', 'wrong')))).toMatchObject({
        kind: 'authentication',
        status: 401,
      });
      const guest = as('guest', 'guest');
      for (const wanted of [{ message }, { subscription: { consume: { amount: 1 } } }])
        expect(await faultOf(call('secret', wanted, guest))).toMatchObject({
          kind: 'authorization',
          detail: expect.stringContaining('secret.plans'),
        });
      const large = { payload: { text: 'x'.repeat(1_100_000) } };
      expect(await faultOf(call('work', { message: large }))).toMatchObject({
        kind: 'validation',
        detail: expect.stringContaining('1048576 bytes'),
      });
    });

    test('TLS is what the server asks for, for the name that the certificate has', async () => {
      const at = {
        document: { endpoint: `${documents.url}/tls` },
        authentication: { bearer: { use: 'TOKEN' } },
      };
      const options = { secrets: { TOKEN: 'token-of-nats' }, allow: ['127.0.0.1', 'localhost'] };
      const following = callAsync(
        { ...at, operation: 'hear', subscription: { consume: { amount: 1 } } },
        options,
      );
      const received = await whileSending(following, () =>
        callAsync({ ...at, operation: 'tell', message: { payload: { n: 1 } } }, { ...options, key: 'other' }),
      );
      expect(payloads(received)).toEqual([{ n: 1 }]);
    });

    test('cancelling and the time limit end a subscription', async () => {
      const cancel = new AbortController();
      const following = call('work', { subscription: { consume: { amount: 1 } } }, { signal: cancel.signal });
      setTimeout(() => cancel.abort(new Error('cancelled by the test')), 300);
      await expect(following).rejects.toThrow('cancelled by the test');
      const late = call('work', { subscription: { consume: { amount: 1 } } }, { timeoutMs: 400 });
      expect(await faultOf(late)).toMatchObject({ kind: 'timeout' });
    });
  });
}

function withRabbitMq(broker: RabbitMq): void {
  describe('RabbitMQ', () => {
    let documents: TestServer;
    const { channel } = broker;
    beforeAll(async () => {
      await channel.assertExchange('shop', 'topic', { durable: false });
      await channel.assertQueue('jobs', { durable: false });
      const exchange = { is: 'routingKey', exchange: { name: 'shop', type: 'topic' } };
      const queue = { is: 'queue', queue: { name: 'jobs' } };
      const channels = {
        orders: {
          address: 'orders.{region}.new',
          parameters: { region: { location: '$message.payload#/region' } },
          messages: { order: { correlationId: { location: '$message.payload#/id' } } },
          bindings: { amqp: exchange },
        },
        jobs: { address: 'any', bindings: { amqp: queue } },
        nowhere: { address: 'no.queue', bindings: { amqp: exchange } },
        missing: { address: 'missing', bindings: { amqp: { is: 'queue' } } },
      };
      const document = version3({ host: `127.0.0.1:${broker.port}`, protocol: 'amqp' }, channels);
      const mandatory = { ...document.operations['nowhere'], bindings: { amqp: { mandatory: true } } };
      const server = { url: `amqps://localhost:${broker.tlsPort}/`, protocol: 'amqps' };
      documents = await serveDocuments({
        plain: { ...document, operations: { ...document.operations, nowhere: mandatory } },
        other: { ...document, servers: { main: { ...document.servers.main, pathname: '/other' } } },
        tls: {
          asyncapi: '2.6.0',
          servers: { main: server },
          channels: { jobs: { publish: {}, bindings: { amqp: queue } } },
        },
      });
    });
    afterAll(async () => {
      await documents.close();
      await broker.stop();
    });
    const call = (operation: string, more: object, options: AsyncCallOptions = {}) =>
      callAsync(
        { document: { endpoint: `${documents.url}/plain` }, operation, authentication: basic, ...more },
        { ...as('ada', 'password-of-amqp'), ...options },
      );
    const waiting = async (): Promise<number> => (await channel.checkQueue('jobs')).messageCount;
    const put = (...numbers: number[]): void => {
      for (const n of numbers) channel.sendToQueue('jobs', Buffer.from(JSON.stringify({ n })));
    };

    test('an exchange takes messages with headers, and a subscription has a queue of its own', async () => {
      const message = { payload: { region: 'north', id: 'o-1' }, headers: { 'x-kind': 'test' } };
      const following = call('orders', { subscription: { consume: { amount: 1 } } });
      const send = () => inTrace(() => call('orders', { message }));
      const headers = { ...message.headers, traceparent: TRACEPARENT };
      expect(await whileSending(following, send)).toEqual([
        { payload: message.payload, headers, correlationId: 'o-1' },
      ]);
    });

    test('a queue keeps what a call has not taken, and gives back what an unfinished call took', async () => {
      put(...Array.from({ length: 40 }, (_, n) => n));
      // More than the broker gives at once, and none of the others.
      const subscription = { filter: '.payload.n % 2 == 0', consume: { until: 'length == 18' } };
      const taken = await call('jobs', { subscription });
      expect(payloads(taken)).toEqual(Array.from({ length: 18 }, (_, n) => ({ n: 2 * n })));
      await until(waiting, (count) => count === 5);
      const unfinished = { consume: { amount: 9 } };
      expect(await faultOf(call('jobs', { subscription: unfinished }, { timeoutMs: 600 }))).toMatchObject({
        kind: 'timeout',
      });
      await until(waiting, (count) => count === 5);
      expect(payloads(await call('jobs', { subscription: { consume: { amount: 5 } } }))).toEqual(
        [35, 36, 37, 38, 39].map((n) => ({ n })),
      );
      await until(waiting, (count) => count === 0);
    });

    test('what the broker refuses is named', async () => {
      const message = { payload: { n: 1 } };
      expect(await faultOf(call('jobs', { message }, as('ada', 'wrong')))).toMatchObject({
        kind: 'authentication',
        status: 401,
      });
      for (const operation of ['nowhere', 'missing'])
        expect(await faultOf(call(operation, { message }))).toMatchObject({ status: 404 });
      expect(await faultOf(call('missing', { subscription: { consume: { amount: 1 } } }))).toMatchObject({
        kind: 'configuration',
        detail: expect.stringContaining("no queue 'missing'"),
      });
    });

    test('over TLS (2.6), and to the virtual host of the address', async () => {
      const options = { ...as('ada', 'password-of-amqp'), allow: ['127.0.0.1', 'localhost'] };
      const closed = {
        document: { endpoint: `${documents.url}/other` },
        operation: 'jobs',
        authentication: basic,
      };
      expect(await faultOf(callAsync({ ...closed, message: { payload: {} } }, options))).toMatchObject({
        kind: 'authorization',
        detail: expect.stringContaining('virtual host'),
      });
      const at = { document: { endpoint: `${documents.url}/tls` }, channel: 'jobs', authentication: basic };
      expect(await callAsync({ ...at, message: { payload: { n: 99 } } }, options)).toBeNull();
      const got = await channel.get('jobs', { noAck: true });
      expect(got !== false && JSON.parse(got.content.toString())).toEqual({ n: 99 });
      expect(got !== false && got.properties).toMatchObject({
        contentType: 'application/json',
        deliveryMode: 2,
        messageId: expect.stringMatching(/^cadenza-/),
      });
    });

    test('kill -9 of the worker in the middle of a subscription ends in one result', async () => {
      const run = await killed;
      expect(run['status']).toBe('completed');
      expect(payloads(run['output'])).toEqual([1, 2, 3, 4].map((n) => ({ n })));
      expect((await channel.checkQueue('killed')).messageCount).toBe(0);
    });
  });
}

/** The worker dies when it has two of four messages; another one goes on. */
async function runWithKilledWorker({ port, channel }: RabbitMq): Promise<RunRecord> {
  await channel.assertQueue('killed', { durable: false });
  const jobs = { address: 'killed', bindings: { amqp: { is: 'queue' } } };
  const documents = await serveDocuments({
    plain: version3({ host: `127.0.0.1:${port}`, protocol: 'amqp' }, { jobs }),
  });
  const platform = await startTestPlatform();
  const worker = await startProgram('worker', platform);
  const put = (...numbers: number[]): void => {
    for (const n of numbers) channel.sendToQueue('killed', Buffer.from(JSON.stringify({ n })));
  };
  const queue = () => channel.checkQueue('killed');
  const waiting = (count: number) => until(queue, ({ messageCount }) => messageCount === count);
  try {
    await platform.stopWorker();
    const builder = await platform.as('builder');
    const account = { username: 'ada', password: 'password-of-amqp' };
    await builder.put('/secrets/BROKER', { value: JSON.stringify(account) });
    const call = {
      document: { endpoint: `${documents.url}/plain` },
      operation: 'jobs',
      authentication: basic,
      subscription: { consume: { amount: 4 } },
    };
    const started = await startRun(builder, {
      use: { secrets: ['BROKER'] },
      do: [{ take: { call: 'asyncapi', with: call } }],
    });
    put(1, 2);
    await until(queue, ({ consumerCount }) => consumerCount > 0);
    await waiting(0);
    await worker.kill();
    await waiting(2);
    await worker.start();
    put(3, 4);
    const run = await endOf(builder, started);
    await waiting(0);
    return run;
  } finally {
    await worker.kill();
    await platform.close();
    await documents.close();
  }
}

function withKafka(broker: Kafka): void {
  describe('Kafka', () => {
    let documents: TestServer;
    const scheme = (type: string) => ({ security: [{ $ref: `#/components/securitySchemes/${type}` }] });
    const components = {
      securitySchemes: Object.fromEntries(
        ['plain', 'scramSha256', 'scramSha512', 'oauth2'].map((type) => [type, { type }]),
      ),
    };
    beforeAll(async () => {
      const channels = {
        orders: {
          address: 'orders',
          messages: { order: { bindings: { kafka: { key: { type: 'string', enum: ['fixed'] } } } } },
        },
        keyed: { address: 'any', bindings: { kafka: { topic: 'keyed' } } },
        codecs: { address: 'codecs' },
        fresh: { address: 'fresh.topic' },
        begun: { address: 'begun' },
        absent: { address: 'absent' },
      };
      const at = (port: number, server: object = {}) => {
        const document = version3(
          { host: `127.0.0.1:${port}`, protocol: 'kafka', ...server },
          channels,
          components,
        );
        const share = { action: 'receive', channel: { $ref: '#/channels/keyed' } };
        const group = { kafka: { groupId: { type: 'string', enum: ['readers'] } } };
        const begin = {
          action: 'receive',
          channel: { $ref: '#/channels/begun' },
          bindings: { kafka: { groupId: 'beginners' } },
        };
        const more = { share: { ...share, bindings: group }, begin };
        return { ...document, operations: { ...document.operations, ...more } };
      };
      documents = await serveDocuments({
        plain: at(broker.port),
        lying: at(broker.lyingPort),
        ...Object.fromEntries(
          ['plain', 'scramSha256', 'scramSha512', 'oauth2'].map((type) => [
            `sasl-${type}`,
            at(broker.saslPort, scheme(type)),
          ]),
        ),
        ...Object.fromEntries(
          [
            ['tls', 'localhost'],
            ['tls-ip', '127.0.0.1'],
          ].map(([name, host]) => [
            name,
            {
              asyncapi: '2.6.0',
              servers: { main: { url: `${host}:${broker.tlsPort}`, protocol: 'kafka-secure' } },
              channels: { keyed: { publish: {}, subscribe: {} } },
            },
          ]),
        ),
      });
    });
    afterAll(async () => {
      await documents.close();
      await broker.stop();
    });
    const at = (name: string) => ({ document: { endpoint: `${documents.url}/${name}` } });
    const call = (operation: string, more: object, options: AsyncCallOptions = {}) =>
      callAsync({ ...at('plain'), operation, ...more }, options);
    const one = { subscription: { consume: { amount: 1 } } };

    test('messages have keys and headers, and a topic is created as the broker allows it', async () => {
      expect(await call('fresh', { message: { payload: { n: 1 } } })).toBeNull();
      const message = { payload: { n: 1 }, headers: { 'x-kind': 'test' } };
      await inTrace(() => call('orders', { message }));
      const send = () => inTrace(() => call('orders', { message }));
      const headers = { 'x-kind': 'test', 'kafka-key': 'fixed', traceparent: TRACEPARENT };
      expect(await whileSending(call('orders', one), send)).toEqual([{ payload: { n: 1 }, headers }]);
      expect(await faultOf(call('absent', one))).toMatchObject({
        kind: 'configuration',
        detail: expect.stringContaining('there is no such topic'),
      });
    });

    test('members of a group share partitions, go on where it was, and lose nothing', async () => {
      const send = (n: number) =>
        call('keyed', { message: { payload: { n }, headers: { 'kafka-key': `k${n % 7}` } } });
      await send(-1);
      let n = 0;
      const subscription = { consume: { amount: 20, for_ms: 8_000 } };
      const members = [call('share', { subscription }), call('share', { subscription })];
      const both = Promise.all(members);
      await whileSending(both, () => send(n++), 20);
      const seen = (await both).map((list: { payload: { n: number } }[]) =>
        list.map(({ payload }) => payload.n),
      );
      const unique = new Set(seen.flat());
      // Each has taken 20; what came while members joined may be given twice.
      expect(unique.size).toBeGreaterThan(20);
      const next = await call('share', { subscription: { consume: { amount: 1_000, for_ms: 1_500 } } });
      for (const { payload } of next) unique.add(payload.n);
      const first = Math.min(...unique);
      expect([...unique].toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: n - first }, (_, index) => first + index),
      );
      // An unfinished call commits nothing.
      await send(1_000);
      expect(
        await faultOf(call('share', { subscription: { consume: { amount: 2 } } }, { timeoutMs: 2_000 })),
      ).toMatchObject({ kind: 'timeout' });
      const again = await until(
        () => call('share', { subscription: { consume: { amount: 1, for_ms: 8_000 } } }),
        (list) => list.length > 0,
      );
      expect(payloads(again)).toEqual([{ n: 1_000 }]);
    });

    test('a group whose first call saw nothing gets what is sent before its next', async () => {
      await call('begun', { message: { payload: { n: -1 } } });
      const first = { subscription: { consume: { amount: 1, for_ms: 1_000 } } };
      expect(await call('begin', first)).toEqual([]);
      for (let n = 0; n < 6; n++)
        await call('begun', { message: { payload: { n }, headers: { 'kafka-key': `k${n}` } } });
      const next = await call('begin', { subscription: { consume: { amount: 6, for_ms: 8_000 } } });
      const numbers = next.map(({ payload }: { payload: { n: number } }) => payload.n);
      expect(numbers.toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
    });

    test('every compression of other clients is read, and nothing of aborted transactions', async () => {
      await call('codecs', { message: { payload: { codec: 'first' } } });
      const subscription = { filter: '.payload.codec != "first"', consume: { amount: 6 } };
      const produced: Promise<void>[] = [];
      const following = call('codecs', { subscription });
      const producer = join(import.meta.dirname, '../support/brokers/Produce.java');
      const received = await whileSending(following, async () => {
        await call('codecs', { message: { payload: { codec: 'first' } } });
        if (produced.length === 0) produced.push(broker.java(producer, `127.0.0.1:${broker.port}`, 'codecs'));
      });
      await Promise.all(produced);
      const codecs = received.map(({ payload }: { payload: { codec: string; text: string } }) => {
        expect(payload.text).toHaveLength(5_000);
        return payload.codec;
      });
      expect(codecs.toSorted()).toEqual(['committed', 'gzip', 'lz4', 'none', 'snappy', 'zstd']);
    });

    test('credentials: PLAIN, SCRAM and OAUTHBEARER, as the document says', async () => {
      const message = { payload: { n: 5 } };
      for (const type of ['plain', 'scramSha256', 'scramSha512']) {
        const secured = { ...at(`sasl-${type}`), operation: 'fresh', message, authentication: basic };
        expect(await callAsync(secured, as('ada', 'password-of-kafka'))).toBeNull();
        expect(await faultOf(callAsync(secured, as('ada', 'wrong')))).toMatchObject({
          kind: 'authentication',
          status: 401,
        });
      }
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const now = Math.floor(Date.now() / 1_000);
      const token = `${part({ alg: 'none' })}.${part({ sub: 'ada', iat: now, exp: now + 600 })}.`;
      const bearer = { ...at('sasl-oauth2'), operation: 'fresh', message };
      const authentication = { bearer: { use: 'TOKEN' } };
      expect(await callAsync({ ...bearer, authentication }, { secrets: { TOKEN: token } })).toBeNull();
      const old = `${part({ alg: 'none' })}.${part({ sub: 'ada', iat: now - 900, exp: now - 600 })}.`;
      const refused = faultOf(callAsync({ ...bearer, authentication }, { secrets: { TOKEN: old } }));
      expect(await refused).toMatchObject({ kind: 'authentication', status: 401 });
    });

    test('over TLS (2.6), and only to the name that the certificate has', async () => {
      const options = { allow: ['127.0.0.1', 'localhost'] };
      const message = { payload: { n: 6 }, headers: {} };
      expect(await callAsync({ ...at('tls'), channel: 'keyed', message }, options)).toBeNull();
      expect(await faultOf(callAsync({ ...at('tls-ip'), channel: 'keyed', message }))).toMatchObject({
        kind: 'communication',
        detail: expect.stringContaining('certificate that is not trusted'),
      });
    });

    test('no packet goes to a forbidden address that a broker names', async () => {
      let packets = 0;
      const trap = createServer((socket) => {
        packets += 1;
        socket.destroy();
      });
      await new Promise<void>((resolve) => trap.listen(broker.lie, '127.0.0.2', resolve));
      try {
        const message = { payload: { n: 1 } };
        for (const wanted of [{ message }, one, { ...one, operation: 'share' }])
          expect(await faultOf(callAsync({ ...at('lying'), operation: 'fresh', ...wanted }))).toMatchObject({
            kind: 'authorization',
            detail: expect.stringContaining('EGRESS_ALLOW'),
          });
        expect(packets).toBe(0);
      } finally {
        trap.close();
      }
    });
  });
}
