/**
 * Reads the structure of a protobuf message before it is decoded: what takes two bytes there, such as a part
 * without content, takes hundreds of memory as an object. Decoders also read what protobuf does not allow,
 * such as messages that go on after their end, so that is refused here.
 */
import { MAX_LISTED, MAX_VALUES } from '../../domain/a2a/bounds.ts';
import { badRequest } from '../../domain/errors.ts';
import { tooWide } from '../middleware/body.ts';
import { tooDeep } from './grpc-values.ts';
import { A2A_JSON_BOUNDS } from './limits.ts';
import { tooManyEntries } from './list-bounds.ts';

/** All fields of a message and of its parts together, and all of its JSON: at most three for each value. */
const MAX_FIELDS = { own: 20_000, json: 3 * MAX_VALUES };
/** A level of JSON is up to three messages. */
const MAX_DEPTH = 200;

interface Field {
  /** The messages in it; absent for texts, bytes and numbers. */
  of?: Shape;
  /** Where the list is, for errors; absent if it is none. */
  list?: string;
}

interface Shape {
  /** By number. */
  fields: (Field | undefined)[];
  /** A part of google.protobuf.Struct, and what it counts as; `other` counts for nothing. */
  json?: 'names' | 'values' | 'other' | undefined;
}

const shape = (fields: Record<number, Field>, json?: Shape['json']): Shape => {
  const list: Shape['fields'] = Array.from({ length: 10 });
  for (const [number, field] of Object.entries(fields)) list[Number(number)] = field;
  return { fields: list, json };
};

const value = shape({}, 'values');
const struct = shape({ 1: { of: shape({ 2: { of: value } }, 'names') } }, 'other');
value.fields[5] = { of: struct };
value.fields[6] = { of: shape({ 1: { of: value } }, 'other') };

const plain = shape({});
const pushConfig = shape({ 6: { of: plain } });
const configuration = shape({
  1: { list: '/configuration/acceptedOutputModes' },
  2: { of: pushConfig },
});
const part = shape({ 4: { of: value }, 5: { of: struct } });
const message = shape({
  5: { of: part, list: '/message/parts' },
  6: { of: struct },
  7: { list: '/message/extensions' },
  8: { list: '/message/referenceTaskIds' },
});
const send = shape({ 2: { of: message }, 3: { of: configuration }, 4: { of: struct } });

/** The requests that hold other messages, by the method's name; all others are plain. */
const REQUESTS: Record<string, Shape> = {
  sendMessage: send,
  sendStreamingMessage: send,
  listTasks: shape({ 7: { of: plain } }),
  cancelTask: shape({ 3: { of: struct } }),
  createTaskPushNotificationConfig: pushConfig,
};

/**
 * @throws 400 for bytes that are no protobuf, too many fields, or a message nested deeper than 64 levels; 422
 * for a list with too many entries
 */
export function checkWire(bytes: Uint8Array, method: string): void {
  new Scan(bytes).message(REQUESTS[method] ?? plain, bytes.length, 0);
}

export function malformed(): Error {
  return badRequest('malformed_body', 'The message does not have the type that the method expects.');
}

const [VARINT, BITS_64, LENGTH, BITS_32] = [0, 1, 2, 5];
/** Of a tag or a length, and of a number. */
const [SHORT_VARINT, LONG_VARINT] = [5, 10];

class Scan {
  readonly #bytes: Uint8Array;
  readonly #entries = new Map<string, number>();
  readonly #fields = { own: 0, json: 0 };
  readonly #json = { names: 0, values: 0 };
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  message({ fields, json }: Shape, end: number, depth: number): void {
    if (depth > MAX_DEPTH) throw tooDeep();
    if (json === 'names' || json === 'values') this.#countJson(json);
    while (this.#at < end) {
      const tag = this.#varint(SHORT_VARINT);
      const field = fields[tag >>> 3];
      if (tag >>> 3 === 0) throw malformed();
      this.#count(field, json);
      if ((tag & 7) === LENGTH) {
        const innerEnd = this.#varint(SHORT_VARINT) + this.#at;
        if (innerEnd > end) throw malformed();
        if (field?.of) this.message(field.of, innerEnd, depth + 1);
        this.#at = innerEnd;
      } else {
        this.#skip(tag & 7);
      }
    }
    if (this.#at !== end) throw malformed();
  }

  #count(field: Field | undefined, json: Shape['json']): void {
    const part = json === undefined ? 'own' : 'json';
    this.#fields[part] += 1;
    if (this.#fields[part] > MAX_FIELDS[part])
      throw badRequest('too_many_fields', `The message has more than ${MAX_FIELDS[part]} fields.`);
    const list = field?.list;
    if (list === undefined) return;
    const entries = (this.#entries.get(list) ?? 0) + 1;
    if (entries > MAX_LISTED) throw tooManyEntries(list);
    this.#entries.set(list, entries);
  }

  #countJson(what: 'names' | 'values'): void {
    this.#json[what] += 1;
    if (this.#json[what] > A2A_JSON_BOUNDS[what]) throw tooWide(what, A2A_JSON_BOUNDS[what]);
  }

  /** Groups are not among the types: protobuf has none any more. */
  #skip(type: number): void {
    if (type === VARINT) this.#varint(LONG_VARINT);
    else if (type === BITS_64) this.#at += 8;
    else if (type === BITS_32) this.#at += 4;
    else throw malformed();
  }

  /** Of numbers above 32 bits only that they end. */
  #varint(most: number): number {
    let number = 0;
    for (let length = 0; length < most; length += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw malformed();
      this.#at += 1;
      number += (byte & 0x7f) * 2 ** (7 * length);
      if (byte < 0x80) {
        if (most === SHORT_VARINT && number >= 2 ** 32) throw malformed();
        return number;
      }
    }
    throw malformed();
  }
}
