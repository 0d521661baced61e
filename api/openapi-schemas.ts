/** Converts zod schemas to JSON Schema 2020-12. Schemas with an `id` become shared components. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

export type Json = Record<string, unknown>;

export interface Components {
  /** The schema as JSON Schema, or a reference if it has an `id`. */
  schema(schema: z.ZodType, io: 'input' | 'output'): Json;
  /**
   * Like `schema`, but an object without an `id` becomes a component of this name, because client generators
   * name types after components.
   */
  named(name: string, schema: z.ZodType, io: 'input' | 'output'): Json;
  /** All components so far, by name. */
  all(): Record<string, Json>;
}

const DEFS_PREFIX = '#/$defs/';
const COMPONENTS_PREFIX = '#/components/schemas/';

export function createComponents(): Components {
  const shared = new Map<string, Json>();
  const components: Components = {
    all: () => Object.fromEntries(shared),
    schema(schema, io) {
      // As a property of an object, the root schema becomes a reference too if it has an id.
      const { $defs = {}, properties = {} } = z.toJSONSchema(z.object({ root: schema }), {
        io,
        unrepresentable: 'any',
        override: (context) => adjust(context, io),
      });
      const names = new Map(Object.keys($defs).map((name) => [name, name]));
      for (const [name, definition] of Object.entries($defs)) {
        const known = shared.get(name);
        // Input and output differ if fields have defaults: input may omit them.
        if (known && !isDeepStrictEqual(known, rewriteReferences(definition, names))) {
          names.set(name, `${name}${io === 'input' ? 'Input' : 'Output'}`);
        }
      }
      for (const [name, definition] of Object.entries($defs)) {
        const { id: _id, ...rest } = rewriteReferences(definition, names) as Json;
        shared.set(names.get(name) ?? name, rest);
      }
      return rewriteReferences(properties['root'], names) as Json;
    },
    named(name, schema, io) {
      const json = components.schema(schema, io);
      if (!isAnonymousObject(json)) return json;
      const known = shared.get(name);
      if (known && !isDeepStrictEqual(known, json))
        throw new Error(`two schemas in the document are named ${name}`);
      shared.set(name, json);
      return { $ref: COMPONENTS_PREFIX + name };
    },
  };
  return components;
}

function isAnonymousObject(json: Json): boolean {
  return json['type'] === 'object' || 'anyOf' in json || 'oneOf' in json || 'allOf' in json;
}

/** Rewrites references to component names as OpenAPI has them. */
function rewriteReferences(value: unknown, names: Map<string, string>): unknown {
  if (Array.isArray(value)) {
    return value.map((entry) => rewriteReferences(entry, names));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(nullableInOne(value)).map(([key, entry]) => {
      if (key === '$ref' && typeof entry === 'string' && entry.startsWith(DEFS_PREFIX)) {
        const name = entry.slice(DEFS_PREFIX.length);
        return [key, COMPONENTS_PREFIX + (names.get(name) ?? name)];
      }
      return [key, rewriteReferences(entry, names)];
    }),
  );
}

/**
 * Shortens `anyOf: [{type: 'string', …}, {type: 'null'}]` to the equivalent `{type: ['string', 'null'], …}`.
 */
function nullableInOne(schema: object): object {
  const { anyOf, ...rest } = schema as { anyOf?: unknown };
  const [first, second, ...others] = Array.isArray(anyOf) ? (anyOf as Json[]) : [];
  const isPlain = typeof first?.['type'] === 'string' && !('enum' in first) && !('const' in first);
  if (!isPlain || !isDeepStrictEqual(second, { type: 'null' }) || others.length > 0) return schema;
  return { ...first, ...rest, type: [first['type'], 'null'] };
}

/**
 * Adjusts zod's output. `.meta({ jsonSchema })` replaces a schema entirely; patterns that only repeat a
 * format are dropped.
 */
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
  // JSON names are always strings.
  if (isDeepStrictEqual(jsonSchema['propertyNames'], { type: 'string' })) delete jsonSchema['propertyNames'];
  if (jsonSchema['type'] === 'integer' && jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) {
    delete jsonSchema['maximum'];
    if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) {
      delete jsonSchema['minimum'];
    }
  }
}
