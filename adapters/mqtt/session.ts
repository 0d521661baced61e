/** A connection to a broker of MQTT 3.1.1 or 5, for one call. */
import type { Duplex } from 'node:stream';
import type { IClientOptions, MqttClient } from 'mqtt';
import { Fault } from '../../contracts/fault.ts';
import {
  checkedAddress,
  closedByBroker,
  createBreak,
  lostConnection,
  openBrokerSocket,
  refusal,
  settled,
} from '../asyncapi/broker.ts';
import { MAX_RECEIVED_BYTES, tooMuch } from '../asyncapi/message-queue.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import type { CallGuard } from '../guarded-call.ts';
import { openWebSocketStream } from './web-socket-stream.ts';

const KEEPALIVE_SECONDS = 30;
const CONNECT_MS = 30_000;
/** The library reads a packet before anybody can refuse it. */
const MAX_PACKET_BYTES = MAX_RECEIVED_BYTES;

interface MqttOptions {
  egress: EgressPolicy;
  guard: CallGuard;
  /** `host` or `host:port`. */
  host: string;
  secure: boolean;
  /** Of a WebSocket. */
  path?: string;
  version: 4 | 5;
  account: { username: string; password?: string } | null;
  /** The same for a repetition of the call. */
  id: string;
  /**
   * MQTT 5: for how long the broker keeps what comes for this session while nobody is connected, in seconds.
   * Default: not at all.
   */
  keptSeconds?: number;
  /** Called before the connection is made: what the broker has kept comes with it. */
  attach?: (client: MqttClient) => void;
  /** Called when the connection ends, maybe more than once. Null: the broker closed it. */
  ended: (failure: Error | null) => void;
}

export interface MqttSession {
  client: MqttClient;
  /** Ends with the call, and with the connection. Throws `Fault`. */
  within: <T>(work: Promise<T>) => Promise<T>;
  /** With `keep`, the broker keeps the session for a repetition of the call. */
  leave: (keep?: boolean) => Promise<void>;
}

/** Of a message of MQTT 5. The library writes a broken packet for an object without any. */
export function userProperties(properties: Record<string, string>): {
  userProperties?: Record<string, string>;
} {
  return Object.keys(properties).length > 0 ? { userProperties: properties } : {};
}

/** Resolves when the broker has accepted the connection. Throws `Fault`. */
export async function openMqttSession(options: MqttOptions): Promise<MqttSession> {
  const { guard, host, version, account, id, ended, keptSeconds, attach } = options;
  const { MqttClient: Client } = await import('mqtt');
  const stream = await openStream(options);
  const settings: IClientOptions = {
    protocolVersion: version,
    clientId: id,
    clean: keptSeconds === undefined,
    keepalive: KEEPALIVE_SECONDS,
    reconnectPeriod: 0,
    connectTimeout: CONNECT_MS,
    ...(version === 5
      ? {
          properties: {
            maximumPacketSize: MAX_PACKET_BYTES,
            ...(keptSeconds === undefined ? {} : { sessionExpiryInterval: keptSeconds }),
          },
        }
      : {}),
    ...account,
  };
  const client = new Client(() => stream, settings);
  const broken = createBreak(guard.signal);
  const fail = (failure: Error): void => {
    broken.fail(failure);
    ended(failure);
  };
  attach?.(client);
  boundPackets(client, stream, fail);
  client.on('error', (error) => fail(failureOf(options, error)));
  client.on('close', () => {
    broken.fail(closedByBroker(host));
    ended(null);
  });
  const within: MqttSession['within'] = (work) =>
    broken.within(work).catch((error: unknown) => {
      throw guard.signal.aborted ? error : failureOf(options, error);
    });
  try {
    await within(new Promise<void>((resolve) => client.once('connect', () => resolve())));
    return { client, within, leave: (keep = false) => leave(client, keptSeconds !== undefined, keep) };
  } catch (error) {
    await leave(client, keptSeconds !== undefined, false);
    throw error;
  }
}

async function openStream({ egress, guard, host, secure, path }: MqttOptions): Promise<Duplex> {
  if (path !== undefined) {
    const url = new URL(`${secure ? 'wss' : 'ws'}://${host}${path}`);
    return openWebSocketStream({ egress, guard }, url, MAX_PACKET_BYTES);
  }
  return openBrokerSocket(await checkedAddress({ egress }, host, secure), guard.signal);
}

/** The messages are counted by who takes them, packets that keep the connection alive by nobody. */
function boundPackets(client: MqttClient, stream: Duplex, fail: (failure: Error) => void): void {
  let received = 0;
  client.on('packetreceive', () => (received = 0));
  stream.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received <= MAX_PACKET_BYTES) return;
    fail(tooMuch(`${MAX_PACKET_BYTES} bytes in a packet`));
    stream.destroy();
  });
}

/** MQTT 3.1.1 §3.2.2.3, MQTT 5 §3.2.2.2: why a broker refuses a connection. */
const REFUSALS: Readonly<Record<number, 'authentication' | 'authorization'>> = {
  4: 'authentication',
  5: 'authorization',
  134: 'authentication',
  135: 'authorization',
};

function failureOf({ guard, host }: Pick<MqttOptions, 'guard' | 'host'>, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const text = error instanceof Error ? error.message : '';
  // The library gives its own time limit no code.
  const late = text === 'connack timeout' ? { code: 'UND_ERR_CONNECT_TIMEOUT', cause: error } : null;
  if (typeof code !== 'number') return lostConnection(host, late ?? error);
  return refusal({ guard, target: { host } }, REFUSALS[code] ?? 'communication', `${text} (${code})`, error);
}

async function leave(client: MqttClient, isKept: boolean, keep: boolean): Promise<void> {
  client.on('error', () => undefined);
  // MQTT 5 §3.14.2.2.2: the session ends with the connection.
  const end = isKept ? { reasonCode: 0, properties: { sessionExpiryInterval: 0 } } : {};
  if (client.connected && !keep) await settled(client.endAsync(false, end));
  client.stream.destroy();
  client.end(true);
}
