/** A real receiver of OTLP over HTTP, in the binary form, that keeps the spans which it gets. */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { createServer, type ServerResponse } from 'node:http';
import { keepIdle } from './http-server.ts';

export interface ReceivedSpan {
  trace: string;
  id: string;
  /** Empty: it has none. */
  parent: string;
  /** W3C `tracestate`. */
  state: string;
  name: string;
  /** opentelemetry.proto.trace.v1.Span.SpanKind: 2 server, 3 client, 4 producer. */
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  links: { trace: string; id: string }[];
  failed: boolean;
  /** Attributes of its resource. */
  resource: Record<string, unknown>;
}

export interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  /** All that came, as it came. */
  bytes(): Buffer;
  headers: Record<string, string | string[] | undefined>[];
  /** Answers from now on, and those that were not answered before with 400. */
  answers(status: number | 'never'): void;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: OtlpReceiver['headers'] = [];
  const held: ServerResponse[] = [];
  let status: number | 'never' = 200;
  const server = createServer(keepIdle, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    bodies.push(body);
    headers.push(request.headers);
    if (status === 'never') return void held.push(response);
    if (status === 200 && request.url === '/v1/traces') spans.push(...decodeRequest(body));
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    headers,
    bytes: () => Buffer.concat(bodies),
    answers(next) {
      status = next;
      // What was not answered is lost.
      for (const response of held.splice(0)) response.writeHead(400).end();
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

type Fields = Map<number, (Uint8Array | bigint | number)[]>;

/** A message of Protocol Buffers by its field numbers. */
function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const value =
      type === 0
        ? BigInt(reader.uint64())
        : type === 1
          ? BigInt(reader.fixed64())
          : type === 2
            ? reader.bytes()
            : reader.fixed32();
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const parts = (fields: Fields, number: number): Uint8Array[] =>
  (fields.get(number) ?? []).filter((value) => value instanceof Uint8Array);
const hex = (fields: Fields, number: number): string =>
  Buffer.from(parts(fields, number)[0] ?? []).toString('hex');
const text = (fields: Fields, number: number): string =>
  Buffer.from(parts(fields, number)[0] ?? []).toString();
const milliseconds = (fields: Fields, number: number): number =>
  Number(BigInt(fields.get(number)?.[0]?.toString() ?? 0) / 1_000_000n);

/** opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest. */
function decodeRequest(bytes: Uint8Array): ReceivedSpan[] {
  return parts(fieldsOf(bytes), 1).flatMap((resourceSpans) => {
    const ofResource = fieldsOf(resourceSpans);
    const resource = attributesIn(fieldsOf(parts(ofResource, 1)[0] ?? new Uint8Array()), 1);
    return parts(ofResource, 2).flatMap((scopeSpans) =>
      parts(fieldsOf(scopeSpans), 2).map((span) => ({ ...decodeSpan(fieldsOf(span)), resource })),
    );
  });
}

function decodeSpan(span: Fields): Omit<ReceivedSpan, 'resource'> {
  const status = fieldsOf(parts(span, 15)[0] ?? new Uint8Array());
  return {
    trace: hex(span, 1),
    id: hex(span, 2),
    parent: hex(span, 4),
    state: text(span, 3),
    name: text(span, 5),
    kind: Number(span.get(6)?.[0] ?? 0),
    startMs: milliseconds(span, 7),
    endMs: milliseconds(span, 8),
    attributes: attributesIn(span, 9),
    links: parts(span, 13).map((link) => {
      const fields = fieldsOf(link);
      return { trace: hex(fields, 1), id: hex(fields, 2) };
    }),
    failed: Number(status.get(3)?.[0] ?? 0) === 2,
  };
}

function attributesIn(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    parts(fields, number).map((each) => {
      const pair = fieldsOf(each);
      return [text(pair, 1), valueOf(fieldsOf(parts(pair, 2)[0] ?? new Uint8Array()))];
    }),
  );
}

/** opentelemetry.proto.common.v1.AnyValue. */
function valueOf(value: Fields): unknown {
  const [number] = value.keys();
  const [first] = value.get(number ?? 0) ?? [];
  if (number === 1) return text(value, 1);
  if (number === 2) return first === 1n;
  if (number === 3) return Number(first);
  if (number === 4) {
    const bits = new DataView(new ArrayBuffer(8));
    bits.setBigUint64(0, BigInt(first?.toString() ?? 0));
    return bits.getFloat64(0);
  }
  if (number === 5)
    return parts(fieldsOf(parts(value, 5)[0] ?? new Uint8Array()), 1).map((each) => valueOf(fieldsOf(each)));
  return null;
}
