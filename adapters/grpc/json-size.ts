import { ScalarType, type DescEnum, type DescField, type DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';

/** As deep as the library decodes. */
const MAX_DEPTH = 100;
/** Quotes, colon, comma. */
const MARKS = 4;
/** A short number, or brackets. */
const SMALL_VALUE = 2;

/**
 * About how many characters of JSON an encoded message becomes, at most a little more than `limit`. Fields
 * that are not sent count too if JSON has them, so a few bytes can become thousands of values: this is asked
 * before anything is decoded. Counts invalid data up to the mistake.
 */
export function jsonSizeOf(type: DescMessage, bytes: Uint8Array, limit: number): number {
  const meter = new Meter(bytes, limit);
  try {
    meter.message(type, bytes.length, 0);
  } catch {
    // Decoding says what is wrong.
  }
  return meter.size;
}

class Meter {
  readonly #reader: BinaryReader;
  readonly #limit: number;
  readonly #types = new Map<DescMessage, Weights>();
  size = 0;

  constructor(bytes: Uint8Array, limit: number) {
    this.#reader = new BinaryReader(bytes);
    this.#limit = limit;
  }

  /** Reads to `end`, or to the end of the group. */
  message(type: DescMessage, end: number, depth: number): void {
    const { fields, empty } = this.#weightsOf(type);
    this.size += empty;
    while (this.#reader.pos < end && this.size <= this.#limit) {
      const [number, wire] = this.#reader.tag();
      if (wire === WireType.EndGroup) return;
      const field = fields.get(number);
      this.size += weightOf(field);
      const inner = depth < MAX_DEPTH ? field?.message : undefined;
      if (wire === WireType.LengthDelimited) this.#delimited(field, inner, depth);
      else if (wire === WireType.StartGroup && inner) this.message(inner, end, depth + 1);
      else this.#reader.skip(wire, number);
    }
  }

  #delimited(field: DescField | undefined, inner: DescMessage | undefined, depth: number): void {
    const length = this.#reader.uint32();
    const end = this.#reader.pos + length;
    if (field?.fieldKind === 'map') this.#entry(field, inner, end, depth + 1);
    else if (inner) this.message(inner, end, depth + 1);
    else if (field !== undefined) this.size += length * byteWeight(field);
    this.#reader.pos = end;
  }

  /** An entry of a map: 1 is its key, 2 its value. */
  #entry(field: DescField, value: DescMessage | undefined, end: number, depth: number): void {
    this.size += valueWeight(field.enum);
    while (this.#reader.pos < end && this.size <= this.#limit) {
      const [number, wire] = this.#reader.tag();
      if (wire !== WireType.LengthDelimited) {
        this.#reader.skip(wire, number);
        continue;
      }
      const length = this.#reader.uint32();
      const to = this.#reader.pos + length;
      if (number === 2 && value) this.message(value, to, depth);
      else this.size += length;
      this.#reader.pos = to;
    }
  }

  #weightsOf(type: DescMessage): Weights {
    const known = this.#types.get(type);
    if (known !== undefined) return known;
    const implicit = type.fields.filter(isImplicit);
    const weights = {
      fields: new Map(type.fields.map((field) => [field.number, field])),
      empty: implicit.reduce((sum, field) => sum + weightOf(field), SMALL_VALUE),
    };
    this.#types.set(type, weights);
    return weights;
  }
}

interface Weights {
  fields: Map<number, DescField>;
  /** Of a message of which nothing is sent. */
  empty: number;
}

function isImplicit({ fieldKind, presence }: DescField): boolean {
  return fieldKind === 'list' || fieldKind === 'map' || presence === FeatureSet_FieldPresence.IMPLICIT;
}

/** The name of a field, and its value as far as it does not depend on what is sent. */
function weightOf(field: DescField | undefined): number {
  return field === undefined ? 1 : field.jsonName.length + MARKS + valueWeight(field.enum);
}

function valueWeight(type: DescEnum | undefined): number {
  return type === undefined ? SMALL_VALUE : longestName(type) + SMALL_VALUE;
}

/** A list of numbers is sent in one piece: each byte may be a number, and fixed numbers have more digits. */
function byteWeight({ fieldKind, scalar, enum: type }: DescField): number {
  const isText = scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
  return fieldKind === 'list' && !isText ? valueWeight(type) + 1 : 1;
}

const longest = new WeakMap<DescEnum, number>();

function longestName(type: DescEnum): number {
  const known = longest.get(type);
  if (known !== undefined) return known;
  const length = type.values.reduce((max, { name }) => Math.max(max, name.length), 0);
  longest.set(type, length);
  return length;
}
