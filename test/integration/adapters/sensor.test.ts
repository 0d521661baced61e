/** Agents of kind `sensor` with real brokers: MQTT 5 (mosquitto, where it is installed) and 3.1.1 (aedes). */
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Aedes } from 'aedes';
import { connectAsync, type MqttClient } from 'mqtt';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { AgentResult, CallFiles } from '../../../domain/ports.ts';
import { agentCall, faultOf, noFiles } from '../../support/agent-call.ts';
import { startMosquitto } from '../../support/brokers/mosquitto.ts';
import { inTrace, TRACEPARENT } from '../../support/trace.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { skip } from '../../support/outside.ts';
import { until } from '../../support/platform.ts';

const opened = closedAfterEach();

interface Options {
  secrets?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal;
  files?: CallFiles;
  allow?: string[];
}

/** One invocation of a sensor. */
async function sense(
  configuration: Record<string, unknown>,
  input: unknown = null,
  { files, allow = ['127.0.0.1', 'localhost'], ...options }: Options = {},
): Promise<AgentResult> {
  const egress = createEgressPolicy({ allow });
  try {
    const call = agentCall({ type: 'sensor', configuration }, input, { timeoutMs: 20_000, ...options });
    return await createAdapters({ egress }).invoke({
      ...call,
      ...(files ? { files } : {}),
    });
  } finally {
    await egress.close();
  }
}

/** A broker of MQTT 3.1.1 that says when somebody has subscribed. */
async function serveBroker() {
  const broker = await Aedes.createBroker();
  const server = createServer(broker.handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened({
    close: async () => {
      await new Promise<void>((resolve) => broker.close(() => resolve()));
      server.close();
    },
  });
  const { port } = server.address() as AddressInfo;
  const publish = (topic: string, payload: string | Buffer, retain = false): Promise<void> =>
    new Promise((resolve) =>
      broker.publish({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain }, () => resolve()),
    );
  /** Resolves when somebody has subscribed to the topic. */
  const subscribed = (topic: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (subscriptions: { topic: string }[]): void => {
        if (!subscriptions.some((one) => one.topic === topic)) return;
        broker.off('subscribe', look);
        resolve();
      };
      broker.on('subscribe', look);
    });
  const at = { broker: `mqtt://127.0.0.1:${port}`, protocol: 'mqtt' };
  return { broker, port, publish, subscribed, at };
}

describe('readings over MQTT 3.1.1', () => {
  test('the latest reading is the retained one, or the next', async () => {
    const { publish, subscribed, at } = await serveBroker();
    await publish('plant/7/temperature', '21.5', true);
    const topic = 'plant/{machine}/temperature';
    expect(await sense({ ...at, topic }, { machine: 7 })).toEqual({
      output: 21.5,
      usage: { requests: 1, duration_ms: expect.any(Number) },
    });
    const begun = subscribed('plant/8/temperature');
    const next = sense({ ...at, topic, value: '.celsius' }, { machine: '8' });
    await begun;
    // An empty message is no reading.
    await publish('plant/8/temperature', '');
    await publish('plant/8/temperature', '{"celsius": 19}');
    expect(await next).toMatchObject({ output: 19 });
  });

  test('a window gives all its readings, or their figures', async () => {
    const { publish, subscribed, at } = await serveBroker();
    const collect = async (more: object): Promise<AgentResult> => {
      const begun = subscribed('room/+/co2');
      const configuration = { ...at, mode: 'window', topic: 'room/+/co2', window: 3_000, ...more };
      const collecting = sense(configuration);
      await begun;
      for (const [room, value] of [
        ['a', 400],
        ['b', 600],
        ['a', 'broken'],
      ] as const)
        await publish(`room/${room}/co2`, JSON.stringify(value));
      return collecting;
    };
    const reading = (topic: string, value: unknown) => ({ at: expect.any(String), topic, value });
    expect(await collect({})).toMatchObject({
      output: {
        count: 3,
        readings: [reading('room/a/co2', 400), reading('room/b/co2', 600), reading('room/a/co2', 'broken')],
      },
    });
    expect(await collect({ aggregate: true })).toMatchObject({
      output: { count: 2, min: 400, max: 600, avg: 500 },
      warnings: ['1 readings are no numbers and were left out'],
    });
  });

  test('no reading in time, a flood, and a lost broker are errors that say so', async () => {
    const { broker, publish, subscribed, at } = await serveBroker();
    expect(await faultOf(sense({ ...at, topic: 'silent', window: { milliseconds: 50 } }))).toMatchObject({
      kind: 'timeout',
      detail: 'tester got no reading of silent within 50 ms',
    });
    expect(await faultOf(sense({ ...at, topic: 'silent', timeout: 50 }))).toMatchObject({
      kind: 'timeout',
      detail: 'tester did not answer within 50 ms',
    });
    const flooded = subscribed('flood');
    const flood = sense({ ...at, mode: 'window', topic: 'flood', window: 'PT20S' });
    const over = faultOf(flood);
    await flooded;
    for (let n = 0; n < 4; n++) await publish('flood', JSON.stringify('x'.repeat(3_000_000)));
    expect(await over).toMatchObject({ detail: 'The subscription received more than 8388608 bytes' });
    const multiplied = subscribed('flood');
    const value = '[range(200000)]';
    const many = faultOf(sense({ ...at, mode: 'window', topic: 'flood', window: 'PT20S', value }));
    await multiplied;
    for (let n = 0; n < 10; n++) await publish('flood', '1');
    expect(await many).toMatchObject({ detail: 'The readings have more than 8388608 characters' });
    const waiting = subscribed('lost');
    const lost = faultOf(sense({ ...at, topic: 'lost' }));
    await waiting;
    for (const client of Object.values((broker as unknown as { clients: Record<string, any> }).clients))
      client.close();
    expect(await lost).toMatchObject({ kind: 'communication', detail: expect.stringContaining('closed') });
    const cancel = new AbortController();
    const begun = subscribed('cancelled');
    const cancelled = sense({ ...at, topic: 'cancelled' }, null, { signal: cancel.signal });
    await begun;
    cancel.abort(new Error('cancelled by the test'));
    await expect(cancelled).rejects.toThrow('cancelled by the test');
  });

  test('a device whose last will says that it is away is an error at once', async () => {
    const { publish, subscribed, at } = await serveBroker();
    const configuration = { ...at, topic: 'd/value', availability_topic: 'd/{part}' };
    await publish('d/value', '1', true);
    await publish('d/online', 'online', true);
    expect(await sense(configuration, { part: 'online' })).toMatchObject({ output: 1 });
    await publish('d/offline', 'offline', true);
    expect(await faultOf(sense(configuration, { part: 'offline' }))).toMatchObject({
      kind: 'communication',
      status: 503,
      detail: 'The device is away; its last will does not say since when',
    });
    await publish('d/dated', '{"state": "offline", "since": "2026-05-04T03:02:01Z"}', true);
    expect(await faultOf(sense(configuration, { part: 'dated' }))).toMatchObject({
      detail: 'The device is away since 2026-05-04T03:02:01.000Z',
    });
    const begun = subscribed('d/none');
    const waiting = faultOf(sense({ ...configuration, topic: 'd/none' }, { part: 'leaves' }));
    await begun;
    await publish('d/leaves', 'offline');
    expect(await waiting).toMatchObject({ detail: expect.stringMatching(/^The device is away since 20/) });
  });

  test('values of the input cannot change the topic', async () => {
    const { at } = await serveBroker();
    const detail = async (topic: string, value: unknown): Promise<string> =>
      (await faultOf(sense({ ...at, topic }, { name: value }))).detail;
    for (const value of ['+', '#', 'a/b', 'a\u0000', ''])
      expect(await detail('x/{name}/y', value)).toContain('may not be empty or contain +, #, /');
    expect(await detail('x/{name}', { a: 1 })).toContain('needs the field "name" of the input');
    expect(await detail('{name}', '$SYS')).toContain('may not begin topic with "$"');
  });

  test('bytes become a file, and secrets do not come back', async () => {
    const { publish, at } = await serveBroker();
    const stored: unknown[] = [];
    const files: CallFiles = {
      ...noFiles,
      store: async (content, file) => {
        stored.push([Buffer.from(content as Uint8Array), file]);
        return { file_id: 'f', ...file };
      },
    };
    await publish('camera/door', Buffer.from([0xff, 0xd8, 0x00]), true);
    expect(await sense({ ...at, topic: 'camera/door' }, null, { files })).toMatchObject({
      output: { file_id: 'f', name: 'door' },
    });
    expect(stored).toEqual([
      [Buffer.from([0xff, 0xd8, 0x00]), { name: 'door', media_type: 'application/octet-stream' }],
    ]);
    await publish('echo', 'the password is very-secret-word', true);
    const secrets = { PASSWORD_OF_MQTT: 'very-secret-word' };
    const configuration = { ...at, topic: 'echo', username: 'ada', password: '<PASSWORD_OF_MQTT>' };
    expect(await sense(configuration, null, { secrets })).toMatchObject({
      output: 'the password is <PASSWORD_OF_MQTT>',
    });
  });

  test('the egress policy and the configuration are checked before anything is sent', async () => {
    const { at } = await serveBroker();
    expect(await faultOf(sense({ ...at, topic: 'x' }, null, { allow: [] }))).toMatchObject({
      kind: 'authorization',
    });
    expect(await faultOf(sense({ topic: 'x', broker: 'http://127.0.0.1' }))).toMatchObject({
      kind: 'configuration',
      detail: expect.stringContaining('must be an address such as mqtt://'),
    });
    expect(await faultOf(sense({ ...at, mode: 'request', command_topic: 'c', topic: 'x' }))).toMatchObject({
      kind: 'configuration',
      detail: expect.stringContaining('only MQTT 5'),
    });
  });
});

const mosquitto = await startMosquitto();
if (typeof mosquitto === 'string') skip('sensors over MQTT 5', mosquitto);
else
  describe('commands and readings over MQTT 5', () => {
    const { port, webPort, tlsPort, secureWebPort } = mosquitto;
    const at = { broker: `mqtt://127.0.0.1:${port}` };
    afterAll(() => mosquitto.stop());

    async function device(): Promise<MqttClient> {
      const client = await connectAsync(at.broker, { protocolVersion: 5 });
      opened({ close: () => client.endAsync() });
      return client;
    }

    test('a command gets the reply that belongs to it', async () => {
      const client = await device();
      const traces: unknown[] = [];
      client.on('message', (topic, payload, { properties }) => {
        traces.push({ ...properties?.userProperties });
        const reply = properties?.responseTopic ?? '';
        void client.publishAsync(reply, 'of another command', {
          properties: { correlationData: Buffer.from('other') },
        });
        void client.publishAsync(reply, JSON.stringify({ did: JSON.parse(payload.toString()), topic }), {
          properties: { correlationData: properties?.correlationData ?? Buffer.from('') },
        });
      });
      await client.subscribeAsync('lamp/+/set');
      const configuration = {
        ...at,
        mode: 'request',
        command_topic: 'lamp/{lamp}/set',
        reply_topic: 'lamp/{lamp}/done',
      };
      expect(await sense(configuration, { lamp: 3, on: true })).toMatchObject({
        output: { did: { lamp: 3, on: true }, topic: 'lamp/3/set' },
      });
      const templated = { ...configuration, payload: { state: '${ if .on then "ON" else "OFF" end }' } };
      expect(await inTrace(() => sense(templated, { lamp: 3, on: false }))).toMatchObject({
        output: { did: { state: 'OFF' } },
      });
      expect(traces).toEqual([{}, { traceparent: TRACEPARENT }]);
      expect(
        await faultOf(sense({ ...configuration, command_topic: 'nobody/set' }, { lamp: 3 })),
      ).toMatchObject({
        status: 503,
        detail: 'The device is away: nobody listens to nobody/set',
      });
    });

    test('what comes between a lost worker and the repeat is kept, and nothing after the call', async () => {
      const client = await device();
      /** Whether a session has subscribed to the topic. */
      const publish = async (payload: string): Promise<boolean> => {
        let isHeard = true;
        const look = (packet: { cmd: string; reasonCode?: number }): void => {
          if (packet.cmd === 'puback' && packet.reasonCode === 16) isHeard = false;
        };
        client.on('packetreceive', look as never);
        await client.publishAsync('gap/7', payload, { qos: 1 });
        client.off('packetreceive', look as never);
        return isHeard;
      };
      const configuration = { ...at, topic: 'gap/+' };
      const stopping = new AbortController();
      const egress = opened(createEgressPolicy({ allow: ['127.0.0.1'] }));
      const cut = createAdapters({ egress }).invoke({
        ...agentCall({ type: 'sensor', configuration }, null, { signal: stopping.signal }),
        cancelRequested: async () => false,
      });
      const ended = cut.catch((error: unknown) => error);
      // An empty message is no reading.
      await until(() => publish(''), Boolean);
      stopping.abort(new Error('the worker stops'));
      expect(await ended).toMatchObject({ message: 'the worker stops' });
      expect(await publish('21')).toBe(true);
      expect(await sense(configuration)).toMatchObject({ output: 21 });
      expect(await publish('22')).toBe(false);
    });

    test('over TLS with a login, and over WebSocket', async () => {
      const client = await device();
      await client.publishAsync('kept/image', Buffer.from('GIF89a'), {
        retain: true,
        properties: { contentType: 'image/gif' },
      });
      const files: CallFiles = { ...noFiles, store: async (_content, file) => ({ file_id: 'f', ...file }) };
      const image = { output: { file_id: 'f', name: 'image', media_type: 'image/gif' } };
      const over = (broker: string, more: object = {}): Promise<AgentResult> =>
        sense({ broker, topic: 'kept/image', ...more }, null, {
          files,
          secrets: { MQTT: 'password-of-mqtt' },
        });
      expect(await over(`ws://127.0.0.1:${webPort}/mqtt`)).toMatchObject(image);
      const account = { username: 'ada', password: '<MQTT>' };
      expect(await over(`mqtts://localhost:${tlsPort}`, account)).toMatchObject(image);
      expect(await over(`wss://localhost:${secureWebPort}/mqtt`, account)).toMatchObject(image);
      expect(
        await faultOf(over(`mqtts://localhost:${tlsPort}`, { username: 'ada', password: 'no' })),
      ).toMatchObject({
        kind: 'authorization',
        detail: expect.stringContaining('refused'),
      });
    });
  });
