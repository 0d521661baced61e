/** How much JSON an answer of gRPC becomes is known before it is decoded. */
import { create, fromJson, toBinary, toJson, type DescMessage, type JsonValue } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { jsonSizeOf } from '../../../adapters/grpc/json-size.ts';
import { serviceByDocument } from '../../../adapters/grpc/proto-document.ts';

const PROTO = `
syntax = "proto3";
package a;
message Item {
  string name = 1;
  int64 price = 2;
  repeated double sizes = 3;
  map<string, Item> parts = 4;
  optional Item next = 5;
  Colour colour = 6;
  repeated Colour colours = 7;
}
enum Colour { NOT_A_COLOUR_THAT_ANYBODY_KNOWS = 0; RED = 1; }
message Wide { ${Array.from({ length: 500 }, (_, n) => `bool field_${n} = ${n + 1};`).join(' ')} }
message Wides { repeated Wide list = 1; }
service S { rpc Items(Item) returns (Item); rpc Wides(Item) returns (Wides); }
`;
const LIMIT = 16 * 1024 * 1024;

async function output(name: string): Promise<DescMessage> {
  const { service } = await serviceByDocument('http://a.example/a.proto', 'a.S', async () => PROTO);
  const method = service.methods.find((candidate) => candidate.name === name);
  if (method === undefined) throw new Error(`no method ${name}`);
  return method.output;
}

const written = (type: DescMessage, json: JsonValue): [size: number, real: number] => {
  const message = fromJson(type, json);
  const size = jsonSizeOf(type, toBinary(type, message), LIMIT);
  return [size, JSON.stringify(toJson(type, message, { alwaysEmitImplicit: true })).length];
};

test('ordinary messages are measured about right', async () => {
  const item = await output('Items');
  const leaf = { name: 'a name of some length', price: '12345', sizes: [1.5, 2.25, 1 / 3], colour: 'RED' };
  const parts = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`part ${n}`, leaf]));
  for (const json of [{}, leaf, { ...leaf, parts, next: { next: leaf } }, { colours: Array(40).fill(0) }]) {
    const [size, real] = written(item, json as JsonValue);
    expect(size).toBeGreaterThan(real / 2);
    expect(size).toBeLessThan(real * 3 + 100);
  }
});

test('fields that are not sent count, and counting stops at the limit', async () => {
  const type = await output('Wides');
  const bytes = new Uint8Array(2_000_000);
  for (let at = 0; at < bytes.length; at += 2) bytes[at] = 0x0a;
  expect(jsonSizeOf(type, bytes.subarray(0, 20), LIMIT)).toBeGreaterThan(10 * 500 * 10);
  const size = jsonSizeOf(type, bytes, LIMIT);
  expect(size).toBeGreaterThan(LIMIT);
  expect(size).toBeLessThan(LIMIT * 1.1);
  expect(jsonSizeOf(type, Uint8Array.of(0x0a, 0xff, 0xff, 0xff), LIMIT)).toBeLessThan(20_000);
  expect(jsonSizeOf(type, toBinary(type, create(type)), LIMIT)).toBeLessThan(100);
});
