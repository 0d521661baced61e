/** Messages over MQTT 3.1.1 and 5, at least once. */
import type { IClientOptions, IClientPublishOptions, MqttClient } from 'mqtt';
import { Fault, fault } from '../../contracts/fault.ts';
import { connectionFault } from '../egress/connection-fault.ts';
import { checkedAddress, closedByBroker, createBreak, openBrokerSocket, refusal, settled } from './broker.ts';
import { MAX_RECEIVED_BYTES, tooMuch, type MessageQueue } from './message-queue.ts';
import type { Connecting, OutboundMessage, Protocol } from './protocol.ts';

const KEEPALIVE_SECONDS = 30;
/** The library reads a packet before anybody can refuse it. */
const MAX_PACKET_BYTES = MAX_RECEIVED_BYTES;

export const overMqtt: Protocol = {
  maxReceivedBytes: MAX_RECEIVED_BYTES,

  async send(connecting, message) {
    const { target } = connecting;
    const options = publishOptions(connecting, message);
    const { client, within } = await connect(connecting, null);
    try {
      await within(client.publishAsync(target.address, message.payload, options));
    } finally {
      await leave(client);
    }
    return null;
  },

  async subscribe(connecting, queue) {
    const { target } = connecting;
    const { client, within } = await connect(connecting, queue);
    // The connection is not read on before the call has taken what waits.
    client.handleMessage = (_packet, done) => void queue.drained().then(() => done(), done);
    client.on('message', (_topic, payload, { properties }) =>
      queue.push({
        payload,
        headers: { ...properties?.userProperties },
        ...(properties?.correlationData ? { correlationId: properties.correlationData.toString() } : {}),
      }),
    );
    try {
      const granted = await within(client.subscribeAsync(target.address, { qos: qosOf(target.bindings) }));
      if (granted.some(({ qos }) => qos >= 128))
        throw fault('authorization', `${target.host} refuses the subscription of ${target.address}`);
    } catch (error) {
      await leave(client);
      throw error;
    }
    return () => leave(client);
  },
};

function publishOptions({ target }: Connecting, { headers }: OutboundMessage): IClientPublishOptions {
  const { retain } = target.bindings;
  const isCurrent = target.protocol === 'mqtt5';
  if (Object.keys(headers).length > 0 && !isCurrent)
    throw fault('configuration', 'Messages of MQTT 3 have no headers: use a server of the protocol mqtt5');
  return {
    qos: qosOf(target.bindings),
    retain: retain === true,
    ...(isCurrent ? { properties: { contentType: 'application/json', userProperties: headers } } : {}),
  };
}

/** AsyncAPI "MQTT Operation": at least once, unless the document says otherwise. */
function qosOf({ qos }: Record<string, unknown>): 0 | 1 | 2 {
  return qos === 0 || qos === 2 ? qos : 1;
}

interface Session {
  client: MqttClient;
  /** Ends with the call, and with the connection. */
  within: <T>(work: Promise<T>) => Promise<T>;
}

/** Resolves when the broker has accepted the connection. */
async function connect(connecting: Connecting, queue: MessageQueue | null): Promise<Session> {
  const { guard, target, account, credentials, id } = connecting;
  const { MqttClient: Client } = await import('mqtt');
  if (account === null && credentials['authorization'] !== undefined)
    throw fault('configuration', 'MQTT knows the authentication "basic" only');
  const address = await checkedAddress(connecting, target.host, target.secure);
  const socket = await openBrokerSocket(address, guard.signal);
  const options: IClientOptions = {
    protocolVersion: target.protocol === 'mqtt5' ? 5 : 4,
    clientId: id,
    clean: true,
    keepalive: KEEPALIVE_SECONDS,
    reconnectPeriod: 0,
    connectTimeout: Math.min(guard.leftMs(), 30_000),
    ...(target.protocol === 'mqtt5' ? { properties: { maximumPacketSize: MAX_PACKET_BYTES } } : {}),
    ...account,
  };
  const client = new Client(() => socket, options);
  let received = 0;
  // The messages themselves are counted by the queue, packets that keep the connection alive by nobody.
  client.on('packetreceive', () => (received = 0));
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > MAX_PACKET_BYTES) {
      queue?.fail(tooMuch(`${MAX_PACKET_BYTES} bytes in a packet`));
      socket.destroy();
    }
  });
  const broken = createBreak(guard.signal);
  client.on('error', (error) => {
    const failure = failureOf(connecting, error);
    broken.fail(failure);
    queue?.fail(failure);
  });
  client.on('close', () => {
    broken.fail(closedByBroker(target.host));
    queue?.end();
  });
  const within: Session['within'] = (work) =>
    broken.within(work).catch((error: unknown) => {
      throw guard.signal.aborted ? error : failureOf(connecting, error);
    });
  try {
    await within(new Promise<void>((resolve) => client.once('connect', () => resolve())));
    return { client, within };
  } catch (error) {
    await leave(client);
    throw error;
  }
}

/** MQTT 3.1.1 §3.2.2.3, MQTT 5 §3.2.2.2: why a broker refuses a connection. */
const REFUSALS: Readonly<Record<number, 'authentication' | 'authorization'>> = {
  4: 'authentication',
  5: 'authorization',
  134: 'authentication',
  135: 'authorization',
};

function failureOf(connecting: Connecting, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code !== 'number') return connectionFault({ url: `http://${connecting.target.host}` }, error);
  const text = error instanceof Error ? error.message : '';
  return refusal(connecting, REFUSALS[code] ?? 'communication', `${text} (${code})`, error);
}

async function leave(client: MqttClient): Promise<void> {
  client.on('error', () => undefined);
  if (client.connected) await settled(client.endAsync());
  client.stream.destroy();
  client.end(true);
}
