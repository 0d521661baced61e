/** Messages over NATS, at most once, as its core has them; without JetStream. */
import { fault } from '../../contracts/fault.ts';
import { bindingText } from './broker.ts';
import { MAX_RECEIVED_BYTES } from './message-queue.ts';
import { connectNats } from './nats-connection.ts';
import type { Connecting, OutboundMessage, Protocol } from './protocol.ts';

const HEADER_LINE = 'NATS/1.0';
/** More are left out. */
const MAX_HEADERS = 1_000;

export const overNats: Protocol = {
  maxReceivedBytes: MAX_RECEIVED_BYTES,

  async send(connecting, message) {
    const subject = subjectOf(connecting);
    if (/(^|\.)[*>](\.|$)/.test(subject))
      throw fault('configuration', `${subject} has wildcards, so nothing can be sent to it`);
    const connection = await connectNats(connecting, { message: () => undefined, end: () => undefined });
    try {
      await connection.publish(subject, headersOf(message), Buffer.from(message.payload));
    } finally {
      await connection.close();
    }
    return null;
  },

  async subscribe(connecting, queue) {
    const connection = await connectNats(connecting, {
      message: ({ headers, payload }) => {
        // A copy: a part of a buffer keeps all of it.
        queue.push({ payload: Buffer.from(payload), headers: parsedHeaders(headers.toString()) });
      },
      end: (error) => queue.fail(error),
    });
    try {
      await connection.subscribe(subjectOf(connecting), groupOf(connecting));
    } catch (error) {
      await connection.close();
      throw error;
    }
    return () => connection.close();
  },
};

function subjectOf({ target }: Connecting): string {
  const { address } = target;
  // Anything else could end the command.
  if (!/^[^\s\p{Cc}]{1,1000}$/u.test(address))
    throw fault('configuration', `The channel's address ${JSON.stringify(address)} is no subject of NATS`);
  return address;
}

/** Binding "NATS Operation": `queue`. */
function groupOf({ target }: Connecting): string | undefined {
  const group = bindingText(target.bindings, 'queue');
  if (group !== undefined && !/^[^\s\p{Cc}]{1,255}$/u.test(group))
    throw fault('configuration', 'The queue of the binding is no name of NATS');
  return group;
}

function headersOf({ headers }: OutboundMessage): Buffer | null {
  const lines = Object.entries(headers).map(([name, value]) => {
    if (/\p{Cc}/u.test(value))
      throw fault('validation', `The header ${name} has characters that NATS cannot send`);
    return `${name}: ${value}`;
  });
  return lines.length === 0 ? null : Buffer.from(`${[HEADER_LINE, ...lines].join('\r\n')}\r\n\r\n`);
}

/** Names in lower case; values of one name are joined as in HTTP. */
function parsedHeaders(block: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of block.split('\r\n', MAX_HEADERS + 1).slice(1)) {
    // Without a pattern: whoever publishes chooses the line.
    const end = line.indexOf(':');
    if (end < 1) continue;
    const [key, value] = [line.slice(0, end).trim().toLowerCase(), line.slice(end + 1).trim()];
    headers[key] = Object.hasOwn(headers, key) ? `${headers[key]}, ${value}` : value;
  }
  return headers;
}
