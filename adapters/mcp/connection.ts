/** What calls of MCP servers share: the connection, its farewell, and what failed. */
import type { Client, Transport } from '@modelcontextprotocol/client';
import { Fault, fault } from '../../contracts/fault.ts';
import type { CallGuard } from '../guarded-call.ts';
import { statusFault } from '../http/message.ts';
import { StdioTransport } from './stdio-transport.ts';

const MAX_REASON_LENGTH = 1_000;
/** For telling the server that the call is over. */
export const FAREWELL_MS = 2_000;

export type Sdk = typeof import('@modelcontextprotocol/client');

export interface Connection {
  transport: Transport;
  /** The counterpart, for messages. */
  name: string;
  /** The URL over HTTP. */
  url: string | null;
  /** Aborted with the reason when a request or the program fails, which the library may hide. */
  broken: AbortController;
  /** Ends the session on the server. */
  leave: () => Promise<void>;
}

/** Ends the session and the connection, whatever became of the call. */
export async function farewell(client: Client, connection: Connection): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, FAREWELL_MS);
  try {
    await Promise.race([connection.leave(), late]);
  } catch {
    // The server forgets the session by itself.
  } finally {
    clearTimeout(timer);
    await client.close().catch(() => undefined);
    await connection.transport.close().catch(() => undefined);
  }
}

/** What a failed call means to its task. */
export function failureOf(sdk: Sdk, error: unknown, connection: Connection, guard: CallGuard): unknown {
  const { sensitive, signal } = guard;
  if (signal.aborted) return error;
  if (error instanceof Fault) return error;
  const quoted = (text: string): string => sensitive.quote(text, MAX_REASON_LENGTH);
  if (error instanceof sdk.ProtocolError)
    return fault('runtime', `${connection.name} refused: ${quoted(error.message)} (${error.code})`);
  const { reason: cause } = connection.broken.signal;
  if (cause instanceof Fault) return cause;
  if (error instanceof sdk.SdkHttpError && connection.url !== null) {
    const { text } = error.data;
    const bytes = Buffer.from(typeof text === 'string' ? text : '');
    return statusFault({ status: error.status, headers: {}, bytes, url: connection.url }, 'POST', sensitive);
  }
  if (error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.RequestTimeout)
    return fault('timeout', `${connection.name} did not answer in time`);
  const { transport } = connection;
  const stderr = transport instanceof StdioTransport ? quoted(transport.stderr) : '';
  const reason = error instanceof Error ? quoted(error.message) : '';
  return fault(
    'communication',
    `${connection.name} did not answer as an MCP server: ${stderr === '' ? reason : `${reason}: ${stderr}`}`,
    { status: 502, cause: error },
  );
}
