/**
 * A real gRPC server of `shop.v1.Shop`, with server reflection if wanted. It encodes with protobufjs, so what
 * the platform sends is read by another library than the one that wrote it.
 */
import { Server, ServerCredentials, status, type Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import descriptors from 'protobufjs/ext/descriptor.js';

export const SHOP_PROTO = `
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/api/annotations.proto";
import "shop/v1/item.proto";
import "shop/v1/size.proto";

message Order {
  repeated Item items = 1;
  map<string, int64> amounts = 2;
  optional string note = 3;
  oneof payment { string card = 4; bool cash = 5; }
  google.protobuf.Timestamp placed_at = 6;
  bytes signature = 7;
}
message Summary { int32 count = 1; int64 total = 2; Size largest = 3; string note = 4; }
message Watch { int32 count = 1; bool forever = 2; int32 bytes = 3; }
service Shop {
  rpc Place(Order) returns (Summary) { option (google.api.http) = { post: "/orders" body: "*" }; }
  rpc Follow(Watch) returns (stream Item);
  rpc Collect(stream Item) returns (Summary);
  rpc Echo(stream Item) returns (stream Item);
  rpc Refuse(Watch) returns (Summary);
}
`;
export const ITEM_PROTO = `
syntax = "proto3";
package shop.v1;
import "shop/v1/size.proto";
message Item { string display_name = 1; int64 price = 2; Size size = 3; }
`;
export const SIZE_PROTO = `
syntax = "proto3";
package shop.v1;
enum Size { SIZE_UNKNOWN = 0; SMALL = 1; LARGE = 2; }
`;

type Fields = Record<string, unknown>;
type Stream = ServerDuplexStream<Fields, Fields>;

export interface ShopServer {
  port: number;
  /** The metadata of each call. */
  seen: { method: string; metadata: Metadata; messages: Fields[] }[];
  /** Calls of `Follow` that have begun, and that the client cancelled. */
  following: { begun: number; cancelled: number };
  /** How many calls of `Follow` are open. */
  open(): number;
  /** Ends the open calls of `Follow`. */
  release(): void;
  close(): Promise<void>;
}

/** `reflection`: the package of the reflection service. */
export async function startShop(
  options: {
    reflection?: 'v1' | 'v1alpha';
    token?: string;
    port?: number;
  } = {},
): Promise<ShopServer> {
  const root = new protobuf.Root();
  root.addJSON(protobuf.common.get('google/protobuf/timestamp.proto')?.nested ?? {});
  for (const text of [SIZE_PROTO, ITEM_PROTO, SHOP_PROTO]) protobuf.parse(text, root, { keepCase: true });
  root.resolveAll();
  const seen: ShopServer['seen'] = [];
  const following = { begun: 0, cancelled: 0 };
  const open = new Set<Stream>();
  const handlers: Record<string, (stream: Stream, messages: Fields[]) => void> = {
    Place(stream, [order = {}]) {
      const items = (order['items'] ?? []) as Fields[];
      const total = items.reduce((sum, { price }) => sum + Number(price), 0);
      stream.write({ count: items.length, total, largest: 2, note: order['note'] ?? '' });
      stream.end();
    },
    Follow(stream, [watch = {}]) {
      following.begun += 1;
      open.add(stream);
      stream.on('cancelled', () => {
        open.delete(stream);
        following.cancelled += 1;
      });
      for (let number = 1; number <= Number(watch['count'] ?? 0); number++)
        stream.write({
          display_name: `item ${number}${'x'.repeat(Number(watch['bytes'] ?? 0))}`,
          price: number,
        });
      if (watch['forever'] === true) return;
      open.delete(stream);
      stream.end();
    },
    Collect(stream, messages) {
      stream.write({ count: messages.length });
      stream.end();
    },
    Echo(stream, messages) {
      for (const message of messages) stream.write(message);
      stream.end();
    },
    Refuse: (stream) =>
      stream.emit('error', {
        code: status.FAILED_PRECONDITION,
        details: 'not before noon, said token-of-shop',
      }),
  };
  const service = root.lookupService('shop.v1.Shop');
  const server = new Server();
  const definition = Object.fromEntries(
    service.methodsArray.map((method) => [
      method.name,
      wire(`/shop.v1.Shop/${method.name}`, {
        encode: (value: Fields) => {
          const type = method.resolvedResponseType;
          return Buffer.from(type?.encode(type.fromObject(value)).finish() ?? []);
        },
        decode: (bytes: Buffer) => method.resolvedRequestType?.decode(bytes).toJSON() ?? {},
      }),
    ]),
  );
  server.addService(
    definition,
    Object.fromEntries(
      service.methodsArray.map(({ name }) => [
        name,
        (stream: Stream) => {
          const messages: Fields[] = [];
          seen.push({ method: name, metadata: stream.metadata, messages });
          const [given] = stream.metadata.get('authorization');
          if (options.token !== undefined && given !== `Bearer ${options.token}`)
            return void stream.emit('error', {
              code: status.UNAUTHENTICATED,
              details: `no: ${String(given)}`,
            });
          stream.on('data', (message: Fields) => messages.push(message));
          stream.on('end', () => handlers[name]?.(stream, messages));
          return undefined;
        },
      ]),
    ),
  );
  if (options.reflection) addReflection(server, root, options.reflection);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${options.port ?? 0}`, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return {
    port,
    seen,
    following,
    open: () => open.size,
    release: () => open.forEach((stream) => stream.end()),
    close: async () => server.forceShutdown(),
  };
}

interface Codec {
  encode(value: Fields): Buffer;
  decode(bytes: Buffer): Fields;
}

/** Every kind of call is a stream of messages on the wire. */
function wire(path: string, { encode, decode }: Codec) {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: encode,
    requestDeserialize: decode,
    responseSerialize: encode,
    responseDeserialize: decode,
  };
}

const REFLECTION_PROTO = `
syntax = "proto3";
message Question { string name = 3; string symbol = 4; }
message Descriptors { repeated bytes files = 1; }
message Refusal { int32 code = 1; string message = 2; }
message Answer { Descriptors descriptors = 4; Refusal refusal = 7; }
`;

/** The descriptors are those that protobufjs writes, one file for each package. */
function addReflection(server: Server, root: protobuf.Root, version: string): void {
  const { root: types } = protobuf.parse(REFLECTION_PROTO, { keepCase: true });
  const [question, answer] = [types.lookupType('Question'), types.lookupType('Answer')];
  const { file } = descriptors.FileDescriptorSet.toObject(root.toDescriptor('proto3')) as { file: Fields[] };
  const shop = file.find((candidate) => candidate['package'] === 'shop.v1') ?? {};
  const imported = ['google/protobuf/timestamp.proto'];
  const bytes = descriptors.FileDescriptorProto.encode(
    descriptors.FileDescriptorProto.fromObject({
      ...qualified(shop),
      name: 'shop.proto',
      dependency: imported,
    }),
  ).finish();
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const codec = {
    encode: (value: Fields) => Buffer.from(answer.encode(answer.fromObject(value)).finish()),
    decode: (message: Buffer) => question.decode(message).toJSON(),
  };
  server.addService(
    { info: wire(path, codec) },
    {
      info: (stream: Stream) => {
        stream.on('data', ({ symbol, name }: Fields) =>
          stream.write(
            String(symbol).startsWith('shop.v1.') || name === 'shop.proto'
              ? { descriptors: { files: [bytes] } }
              : { refusal: { code: 5, message: 'not found' } },
          ),
        );
        stream.on('end', () => stream.end());
      },
    },
  );
}

/** Names of types in full, as compilers write them. */
function qualified(value: unknown): Fields {
  const within = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(within);
    if (typeof part !== 'object' || part === null || part instanceof Uint8Array) return part;
    return Object.fromEntries(
      Object.entries(part).map(([key, item]) => {
        const isType = ['typeName', 'inputType', 'outputType'].includes(key) && typeof item === 'string';
        if (!isType || item.startsWith('.')) return [key, within(item)];
        const nested = item === 'Amounts' ? 'Order.Amounts' : item;
        return [
          key,
          nested.includes('protobuf') ? `.${nested}` : `.shop.v1.${nested.replace('shop.v1.', '')}`,
        ];
      }),
    );
  };
  return within(value) as Fields;
}
