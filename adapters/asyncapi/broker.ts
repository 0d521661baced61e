/** What calls over the protocols of brokers share. */
import type { Socket } from 'node:net';
import { isRecord } from '../../contracts/is-record.ts';
import type { StandardErrorName } from '../../contracts/dsl-error.ts';
import { Fault, fault } from '../../contracts/fault.ts';
import { connectionFault } from '../egress/connection-fault.ts';
import type { PinnedOrigin } from '../egress/egress.ts';
import { openPinnedSocket } from '../egress/open-pinned-socket.ts';
import { withoutBrackets } from '../egress/web-url.ts';
import type { Connecting } from './protocol.ts';

/** Of a farewell, which brokers can do without. */
const CLOSE_MS = 2_000;

/** A checked address of a broker. */
export interface BrokerAddress {
  pinned: PinnedOrigin;
  /** `host:port`, for messages. */
  host: string;
  /** What the certificate must name, without brackets. */
  hostname: string;
}

/** Throws `Fault` if the egress policy refuses any address of the host. */
export async function checkedAddress(
  { egress }: Pick<Connecting, 'egress'>,
  host: string,
  secure: boolean,
): Promise<BrokerAddress> {
  const origin = `${secure ? 'https' : 'http'}://${host}`;
  if (!URL.canParse(origin)) throw fault('configuration', 'The broker has no valid address');
  const { hostname } = new URL(origin);
  const pinned = await egress.pin(new URL(origin).origin);
  return { pinned, host, hostname: withoutBrackets(hostname) };
}

/** Throws `Fault`. */
export async function openBrokerSocket(
  { pinned, hostname }: BrokerAddress,
  signal: AbortSignal,
): Promise<Socket> {
  return (await openPinnedSocket(pinned, hostname, signal)).setNoDelay(true);
}

/** Ends everything of one connection, once. */
export function createBreak(signal: AbortSignal): {
  fail(error: Error): void;
  readonly reason: Error | null;
  /** `work`, unless the connection breaks or the call is aborted before. */
  within<T>(work: Promise<T>): Promise<T>;
} {
  const waiting = new Set<(error: unknown) => void>();
  let reason: Error | null = null;
  return {
    fail(error) {
      reason ??= error;
      for (const reject of waiting) reject(reason);
    },
    get reason() {
      return reason;
    },
    async within(work) {
      // Nobody may be waiting for it any more.
      work.catch(() => undefined);
      signal.throwIfAborted();
      if (reason !== null) throw reason;
      const { promise, reject } = Promise.withResolvers<never>();
      const abort = (): void => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      waiting.add(reject);
      try {
        return await Promise.race([work, promise]);
      } finally {
        waiting.delete(reject);
        signal.removeEventListener('abort', abort);
      }
    },
  };
}

/** What a broker does not answer in time is left. */
export async function settled(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}

/** A broker's own words about a failure. */
export function refusal(
  { guard, target }: Pick<Connecting, 'guard'> & { target: Pick<Connecting['target'], 'host'> },
  name: StandardErrorName,
  reason: string,
  cause?: unknown,
): Fault {
  const status = name === 'authentication' ? 401 : name === 'authorization' ? 403 : 502;
  const detail = `${target.host} refused: ${guard.sensitive.quote(reason, 200)}`;
  return fault(name, detail, { ...(name === 'configuration' ? {} : { status }), cause });
}

/** A failure of the connection itself. */
export function lostConnection(host: string, error: unknown): Fault {
  if (error instanceof Fault) return error;
  return connectionFault({ url: `http://${host}` }, error, 'broke off the connection');
}

export function closedByBroker(host: string): Fault {
  return lostConnection(host, Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
}

/** Of a binding: a text, a number or a truth value that documents may also write as a schema. */
export function bindingValue(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { const: only, default: usual, enum: choices } = value;
  if (only !== undefined) return only;
  if (usual !== undefined) return usual;
  return Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
}

export function bindingText(bindings: Record<string, unknown>, key: string): string | undefined {
  const value = Object.hasOwn(bindings, key) ? bindingValue(bindings[key]) : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
