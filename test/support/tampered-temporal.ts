/** Stands between the platform and a Temporal server, and answers some calls in its place. */
import { randomBytes } from 'node:crypto';
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

/** Answers a call, or does not. */
export type Answer = (stream: ServerHttp2Stream) => void;

export interface TamperedTemporal {
  address: string;
  /** Of each call to a method of the names that it is given, or of all calls; null: the server's own. */
  answer: ((method: string) => Answer | null) | null;
  /** How often each method was called. */
  calls: Map<string, number>;
  close(): Promise<void>;
}

const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
const MEBIBYTE = 1024 * 1024;
/** Before each message: whether it is compressed, and its length. */
const HEAD_BYTES = 5;

/** Passes a call on, with the answer's trailers. */
export function passOn(
  upstream: ClientHttp2Session,
  authority: string,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  const onward = upstream.request({ ...headers, ':scheme': 'http', ':authority': authority });
  let trailers = {};
  onward.on('trailers', (found) => (trailers = found));
  onward.on('response', (found, flags) => {
    if (stream.destroyed) return;
    const isAll = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    stream.respond(found, isAll ? { endStream: true } : { waitForTrailers: true });
    if (!isAll) onward.pipe(stream);
  });
  onward.on('error', () => stream.destroy());
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('close', () => onward.close());
  stream.pipe(onward);
}

export async function startTamperedTemporal(target: string): Promise<TamperedTemporal> {
  let upstream: ClientHttp2Session | undefined;
  const sessions = new Set<ServerHttp2Session>();
  const proxy = createServer();
  const tampered: TamperedTemporal = {
    address: '',
    answer: null,
    calls: new Map(),
    close: async () => {
      upstream?.destroy();
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
  proxy.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.on('close', () => sessions.delete(session));
  });
  proxy.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const method = String(headers[':path']).replace(/^.*\//, '');
    tampered.calls.set(method, (tampered.calls.get(method) ?? 0) + 1);
    const answer = tampered.answer?.(method) ?? null;
    if (answer !== null) {
      stream.resume();
      answer(stream);
      return;
    }
    if (upstream === undefined || upstream.destroyed) {
      upstream = connect(`http://${target}`);
      upstream.on('error', () => {});
    }
    passOn(upstream, target, stream, headers);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  // Safe: it listens on a port.
  tampered.address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return tampered;
}

/** A message of gRPC, not compressed. */
function framed(message: Uint8Array, length = message.length): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

function end(stream: ServerHttp2Stream, trailers: Record<string, string> = { 'grpc-status': '0' }): void {
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end();
}

function begin(stream: ServerHttp2Stream): void {
  stream.respond(GRPC, { waitForTrailers: true });
}

/** Sends the same bytes for as long as the client takes them. */
function pour(stream: ServerHttp2Stream, bytes: Buffer): void {
  const more = (): void => {
    while (!stream.destroyed && stream.write(bytes));
  };
  stream.on('drain', more);
  more();
}

/** The message as the answer to a call. */
export const answered =
  (message: Uint8Array): Answer =>
  (stream) => {
    begin(stream);
    stream.write(framed(message));
    end(stream);
  };

/** What no server of Temporal answers, by what it is. */
export const STRANGE_ANSWERS: Readonly<Record<string, Answer>> = {
  nothing: () => {},
  'headers, and then nothing': begin,
  'half of a message, and then nothing': (stream) => {
    begin(stream);
    stream.write(framed(randomBytes(100), 1_000));
  },
  'half of a message': (stream) => {
    begin(stream);
    stream.write(framed(randomBytes(100), 1_000));
    end(stream);
  },
  'junk as a message': (stream) => answered(randomBytes(2_000))(stream),
  // Field 1 with a length that the message does not have.
  'a message that says it is longer': answered(Buffer.from('0affffffff0f00', 'hex')),
  // Field 1 as a group that begins again and again.
  'a message of nested groups': answered(Buffer.alloc(100_000, 0x0b)),
  'junk instead of a message': (stream) => {
    begin(stream);
    stream.write(Buffer.alloc(2_000, 0xff));
    end(stream);
  },
  'no message': (stream) => {
    begin(stream);
    end(stream);
  },
  'a message without a status': (stream) => {
    stream.respond(GRPC);
    stream.end(framed(Buffer.alloc(0)));
  },
  'a message of a gibibyte': (stream) => {
    begin(stream);
    stream.write(framed(Buffer.alloc(0), 1024 * MEBIBYTE));
    pour(stream, Buffer.alloc(MEBIBYTE));
  },
  'messages without an end': (stream) => {
    begin(stream);
    pour(stream, Buffer.concat(Array.from({ length: 100 }, () => framed(Buffer.alloc(1_000)))));
  },
  'a page of HTML': (stream) => {
    stream.respond({ ':status': 502, 'content-type': 'text/html' });
    stream.end('<html>Bad Gateway</html>');
  },
  'a status that there is not': (stream) => {
    begin(stream);
    end(stream, { 'grpc-status': '99', 'grpc-message': '%FF%' });
  },
  'details of a failure that are junk': (stream) => {
    begin(stream);
    end(stream, {
      'grpc-status': '14',
      'grpc-message': 'gone',
      'grpc-status-details-bin': randomBytes(500).toString('base64'),
    });
  },
  'the end of the call': (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  'the end of the connection': (stream) => stream.session?.destroy(),
};
