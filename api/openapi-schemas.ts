/** zod schemas as JSON Schema 2020-12, those with an `id` shared as components. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

export type Json = Record<string, unknown>;

export interface Components {
  /** The schema, or a reference to it where it has an `id`. */
  schema(schema: z.ZodType, io: 'input' | 'output'): Json;
  /** What was shared so far, by name. */
  all(): Record<string, Json>;
}

const here = '#/$defs/';
const there = '#/components/schemas/';

export function createComponents(): Components {
  const shared = new Map<string, Json>();
  return {
    all: () => Object.fromEntries([...shared].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    schema(schema, io) {
      // As a member of an object, a schema with an id becomes a reference too.
      const { $defs = {}, properties = {} } = z.toJSONSchema(z.object({ root: schema }), { io, unrepresentable: 'any', override: (context) => adjust(context, io) });
      const names = new Map(Object.keys($defs).map((name) => [name, name]));
      for (const [name, definition] of Object.entries($defs)) {
        const known = shared.get(name);
        // What clients send may be less than what they get: defaults are filled in.
        if (known && !isDeepStrictEqual(known, moved(definition, names))) {
          names.set(name, `${name}${io === 'input' ? 'Input' : 'Output'}`);
        }
      }
      for (const [name, definition] of Object.entries($defs)) {
        const { id: _id, ...rest } = moved(definition, names) as Json;
        shared.set(names.get(name) ?? name, rest);
      }
      return moved(properties['root'], names) as Json;
    },
  };
}

/** References and names as they are in an OpenAPI document. */
function moved(value: unknown, names: Map<string, string>): unknown {
  if (Array.isArray(value)) {
    return value.map((entry) => moved(entry, names));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => {
    if (key === '$ref' && typeof entry === 'string' && entry.startsWith(here)) {
      const name = entry.slice(here.length);
      return [key, there + (names.get(name) ?? name)];
    }
    return [key, moved(entry, names)];
  }));
}

/** What zod cannot know: `.meta({ jsonSchema })` says it whole; patterns that repeat a format go. */
function adjust(context: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }, io: 'input' | 'output'): void {
  const { jsonSchema } = context;
  const own = jsonSchema['jsonSchema'];
  if (typeof own === 'object' && own !== null) {
    for (const key of Object.keys(jsonSchema)) {
      delete jsonSchema[key];
    }
    Object.assign(jsonSchema, own);
  }
  if (jsonSchema['format'] === 'uuid' || (io === 'output' && jsonSchema['format'] === 'date-time')) {
    delete jsonSchema['pattern'];
  }
  if (jsonSchema['type'] === 'integer' && jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) {
    delete jsonSchema['maximum'];
    if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) {
      delete jsonSchema['minimum'];
    }
  }
}
