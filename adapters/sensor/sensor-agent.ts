/** Agents of kind `sensor`: a reading of a device, its readings of a while, or its reply to a command. */
import { createHash, randomUUID } from 'node:crypto';
import type { IClientPublishOptions, MqttClient } from 'mqtt';
import { sensorConfiguration, type SensorConfiguration } from '../../contracts/agent-kinds/sensor.ts';
import { fault } from '../../contracts/fault.ts';
import type { AgentAdapter, AgentCall, AgentResult } from '../../domain/ports.ts';
import { traceHeaders } from '../../tracing/context.ts';
import { closedByBroker } from '../asyncapi/broker.ts';
import { MAX_MESSAGE_BYTES, MAX_RECEIVED_BYTES, MessageQueue } from '../asyncapi/message-queue.ts';
import { parseConfiguration, timeoutOf } from '../call-settings.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { guardedAgent } from '../guarded-agent.ts';
import type { CallGuard } from '../guarded-call.ts';
import { openMqttSession, userProperties, type MqttSession } from '../mqtt/session.ts';
import { renderTemplate } from '../secrets/templates.ts';
import { awayFault } from './availability.ts';
import { aggregateOf, firstOf, readingsOf, toInbound } from './collect.ts';
import { createReader } from './reading.ts';
import { topicOf } from './topics.ts';

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'mqtt:': '1883', 'mqtts:': '8883' };
/** MQTT 5 §3.4.2.1: nobody has subscribed to the topic. */
const NO_SUBSCRIBERS = 16;
/** MQTT 5 §3.8.3.1: a subscription does not ask for retained messages. */
const WITHOUT_RETAINED = 2;

const TAKE_OVER_SECONDS = 60;
const MAX_KEPT_SECONDS = 86_400;

/** What all steps of one call share. */
interface Sensing {
  call: AgentCall;
  configuration: SensorConfiguration;
  guard: CallGuard;
  queue: MessageQueue;
  topics: Topics;
  /** Of the broker, for messages. */
  host: string;
  windowMs: number | null;
}

interface Topics {
  /** Of the readings or replies. */
  from: string;
  command: string | null;
  availability: string | null;
}

/**
 * Configuration: `sensorConfiguration`. Output: of `latest` and `request` the value of one message, of
 * `window` `{count, readings: [{at, topic, value}]}`, or `{count, min, max, avg}`. A device that its
 * availability topic calls offline is a fault at once.
 */
export function createSensorAdapter({ egress }: { egress: EgressPolicy }): AgentAdapter {
  return {
    invoke(call) {
      const configuration = parseConfiguration(sensorConfiguration, call.agent.configuration);
      const { value: _value, ...stored } = configuration;
      return guardedAgent(call, { timeout: configuration.timeout, stored }, (guard) =>
        sense(egress, { call, configuration, guard }),
      );
    },
  };
}

/**
 * Connects to the broker and subscribes, without waiting for a reading; topics that the input completes are
 * not subscribed to. @returns a sentence for people
 */
export async function checkSensor({
  agent,
  egress,
  guard,
}: {
  agent: AgentCall['agent'];
  egress: EgressPolicy;
  guard: CallGuard;
}): Promise<string> {
  const configuration = parseConfiguration(sensorConfiguration, agent.configuration);
  const broker = brokerOf(configuration, guard);
  const { reply_topic, topic, mode } = configuration;
  const stored = (mode === 'request' ? reply_topic : undefined) ?? topic ?? '';
  const session = await openMqttSession({
    egress,
    guard,
    ...broker,
    version: configuration.protocol === 'mqtt' ? 4 : 5,
    account: accountOf(configuration, guard),
    id: `cadenza-check-${randomUUID().slice(0, 8)}`,
    ended: () => {},
  });
  try {
    if (/\{[^{}]*\}/.test(stored)) return `${broker.host} accepts the connection.`;
    const from = topicOf(stored, null, guard.sensitive, { where: 'topic', wildcards: mode !== 'request' });
    await subscribe(session, { configuration, host: broker.host }, from, true);
    return `${broker.host} accepts the connection, and the subscription of ${from}.`;
  } finally {
    await session.leave();
  }
}

async function sense(
  egress: EgressPolicy,
  { call, configuration, guard }: Pick<Sensing, 'call' | 'configuration' | 'guard'>,
): Promise<AgentResult> {
  const { window, aggregate, mode } = configuration;
  const broker = brokerOf(configuration, guard);
  const endless = mode === 'window' && aggregate === true;
  const sensing: Sensing = {
    call,
    configuration,
    guard,
    queue: new MessageQueue(endless ? Infinity : MAX_RECEIVED_BYTES),
    topics: topicsOf(configuration, call.input, guard),
    host: broker.host,
    windowMs: window === undefined ? null : Math.round(timeoutOf(window, Number.MAX_SAFE_INTEGER)),
  };
  const { queue } = sensing;
  const stop = (): void => queue.stop({ error: reasonOf(guard.signal) });
  guard.signal.addEventListener('abort', stop, { once: true });
  const isMqtt5 = configuration.protocol !== 'mqtt';
  let presence: Presence | undefined;
  const session = await openMqttSession({
    egress,
    guard,
    ...broker,
    version: isMqtt5 ? 5 : 4,
    // MQTT 3.1.1 has no end for sessions.
    ...(isMqtt5 ? { keptSeconds: keptSeconds(guard.leftMs()) } : {}),
    attach: (client) => (presence = follow(client, sensing)),
    account: accountOf(configuration, guard),
    id: `cadenza-${digestOf(call.idempotencyKey, 14)}`,
    ended: (failure) => queue.fail(failure ?? closedByBroker(broker.host)),
  }).catch((error: unknown) => {
    guard.signal.removeEventListener('abort', stop);
    throw error;
  });
  try {
    if (!presence) throw new Error('nobody follows the messages');
    return await listen(session, sensing, presence);
  } finally {
    guard.signal.removeEventListener('abort', stop);
    queue.stop({ error: null });
    await session.leave(await isRepeated(call));
  }
}

/** The time that is left, and some for another worker to take the call over. */
function keptSeconds(leftMs: number): number {
  return Math.min(Math.ceil(leftMs / 1_000) + TAKE_OVER_SECONDS, MAX_KEPT_SECONDS);
}

/** Whether another worker goes on with the call that was cut off here. */
async function isRepeated(call: AgentCall): Promise<boolean> {
  return call.signal.aborted && !((await call.cancelRequested?.()) ?? true);
}

async function listen(session: MqttSession, sensing: Sensing, presence: Presence): Promise<AgentResult> {
  const { configuration, call, guard, queue, topics, windowMs } = sensing;
  const { mode = 'latest' } = configuration;
  if (topics.availability !== null) await subscribe(session, sensing, topics.availability);
  await subscribe(session, sensing, topics.from, mode === 'request');
  // The broker answers in order, so a retained last will has arrived.
  presence.check();
  // From now on, the connection is read on when the call has taken what waits.
  presence.throttle();
  const late = windowMs === null ? null : AbortSignal.timeout(Math.min(windowMs, 2 ** 31 - 1));
  const isWindow = mode === 'window';
  const overdue = (): void =>
    isWindow
      ? queue.end()
      : queue.fail(
          fault('timeout', `${call.agent.name} got no reading of ${topics.from} within ${windowMs} ms`),
        );
  late?.addEventListener('abort', overdue, { once: true });
  const read = createReader({ value: configuration.value, files: call.files }, guard.sensitive);
  if (isWindow) {
    const made = configuration.value !== undefined;
    return configuration.aggregate
      ? aggregateOf(queue, read)
      : readingsOf(queue, read, { made, signal: guard.signal });
  }
  if (mode === 'latest') return { output: await read(await firstOf(queue)) };
  const correlation = await command(session, sensing);
  const isReply = ({ correlationId }: { correlationId?: string }): boolean => correlationId === correlation;
  return { output: await read(await firstOf(queue, isReply)) };
}

interface Presence {
  /** Throws the fault of a device that is away. */
  check(): void;
  /** Bounds what waits. */
  throttle(): void;
}

/** Passes on messages. */
function follow(client: MqttClient, { queue, topics, configuration }: Sensing): Presence {
  let away: Error | null = null;
  client.on('message', (topic, payload, { retain, properties }) => {
    if (topic === topics.availability) {
      away = awayFault(payload, retain);
      if (away !== null) queue.fail(away);
      return;
    }
    // An empty message removes the retained one, which is no reading of the window.
    if (payload.length === 0 || (retain && configuration.mode === 'window')) return;
    const contentType = properties?.contentType;
    queue.push(
      toInbound({ topic, payload, contentType, at: new Date() }, properties?.correlationData?.toString()),
    );
  });
  return {
    check() {
      if (away !== null) throw away;
    },
    // Messages may come before the broker's answer to the subscription, so not earlier.
    throttle() {
      client.handleMessage = (_packet, done) => void queue.drained().then(() => done(), done);
    },
  };
}

async function subscribe(
  { client, within }: MqttSession,
  { configuration, host }: Pick<Sensing, 'configuration' | 'host'>,
  topic: string,
  onlyNew = false,
): Promise<void> {
  const { qos = 1, protocol } = configuration;
  const options = { qos, ...(onlyNew && protocol !== 'mqtt' ? { rh: WITHOUT_RETAINED } : {}) };
  const granted = await within(client.subscribeAsync(topic, options));
  if (granted.some((one) => one.qos >= 128))
    throw fault('authorization', `${host} refuses the subscription of ${topic}`);
}

/** Sends the command. @returns what its reply carries */
async function command({ client, within }: MqttSession, sensing: Sensing): Promise<string> {
  const { call, configuration, guard, topics, windowMs } = sensing;
  const { payload: template, qos = 1 } = configuration;
  const value =
    template === undefined ? call.input : renderTemplate(template, call.input, guard.sensitive, 'payload');
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES)
    throw fault('validation', `The command has more than ${MAX_MESSAGE_BYTES} bytes`);
  const correlation = digestOf(call.idempotencyKey, 32);
  const leftMs = Math.min(guard.leftMs(), windowMs ?? Number.MAX_SAFE_INTEGER);
  const options: IClientPublishOptions = {
    qos,
    properties: {
      responseTopic: topics.from,
      correlationData: Buffer.from(correlation),
      ...userProperties(traceHeaders()),
      contentType: typeof value === 'string' ? 'text/plain' : 'application/json',
      // Nobody waits for what a device does later.
      messageExpiryInterval: Math.min(Math.ceil(leftMs / 1_000), 2 ** 32 - 1),
    },
  };
  const topic = topics.command ?? '';
  let isHeard = true;
  client.on('packetreceive', (packet) => {
    if ((packet.cmd === 'puback' || packet.cmd === 'pubrec') && packet.reasonCode === NO_SUBSCRIBERS)
      isHeard = false;
  });
  await within(client.publishAsync(topic, text, options));
  if (!isHeard)
    throw fault('communication', `The device is away: nobody listens to ${topic}`, { status: 503 });
  return correlation;
}

function topicsOf(configuration: SensorConfiguration, input: unknown, { sensitive }: CallGuard): Topics {
  const { mode, topic, reply_topic, command_topic, availability_topic } = configuration;
  const isRequest = mode === 'request';
  const expand = (stored: string | undefined, where: string, wildcards = false): string | null =>
    stored === undefined || stored === '' ? null : topicOf(stored, input, sensitive, { where, wildcards });
  const from = isRequest
    ? (expand(reply_topic, 'reply_topic') ?? expand(topic, 'topic'))
    : expand(topic, 'topic', true);
  return {
    // The configuration has been checked.
    from: from ?? '',
    command: isRequest ? expand(command_topic, 'command_topic') : null,
    availability: expand(availability_topic, 'availability_topic'),
  };
}

function brokerOf(
  { broker = '' }: SensorConfiguration,
  { sensitive }: CallGuard,
): { host: string; secure: boolean; path?: string } {
  const filled = sensitive.fill(broker);
  const url = URL.canParse(filled) ? new URL(filled) : null;
  if (url === null || !/^(?:mqtts?|wss?):$/.test(url.protocol) || url.hostname === '')
    throw fault('configuration', '"broker" must be an address such as mqtts://broker.example.com:8883');
  if (url.username !== '' || url.password !== '')
    throw fault('configuration', 'Put the credentials of the broker into "username" and "password"');
  const { protocol, hostname, port, pathname, search } = url;
  const isWeb = protocol.startsWith('ws');
  return {
    host: port === '' && !isWeb ? `${hostname}:${DEFAULT_PORTS[protocol]}` : url.host,
    secure: protocol === 'mqtts:' || protocol === 'wss:',
    ...(isWeb ? { path: `${pathname}${search}` } : {}),
  };
}

function accountOf(
  { username, password }: SensorConfiguration,
  { sensitive }: CallGuard,
): { username: string; password?: string } | null {
  if (username === undefined && password === undefined) return null;
  return {
    username: sensitive.fill(username ?? ''),
    ...(password === undefined ? {} : { password: sensitive.fill(password) }),
  };
}

function digestOf(key: string, length: number): string {
  return createHash('sha256').update(key).digest('hex').slice(0, length);
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('aborted');
}
