/**
 * The language as a JSON Schema, for editors. It is made from the shapes that the validator checks, so both
 * agree on properties and types; what shapes cannot express, only the validator finds.
 */
import { z } from 'zod';
import { expressionSchema, withAgents, type AgentInput } from './agent-inputs.ts';
import { catalogName, isCatalogFunction } from './call-function.ts';
import {
  duration,
  endpoint,
  errorDefinition,
  eventStrategy,
  input,
  output,
  referenceableAuthentication,
  retryPolicy,
  taskList,
  timeout,
} from './common-shapes.ts';
import { CALL_SHAPES, CALLS, functionShape } from './kinds/call.ts';
import type { CallFunction } from './model.ts';
import { alternativesOf } from './shape.ts';
import { KINDS } from './tasks.ts';
import { definitionShape } from './validate.ts';

type JsonSchema = Record<string, unknown>;

const TASK = { $ref: '#/$defs/task' };
const TASK_LIST = { $ref: '#/$defs/taskList' };

/** Shapes that occur in many places. */
const NAMED = {
  authentication: referenceableAuthentication,
  endpoint,
  error: errorDefinition,
  eventStrategy,
  input,
  output,
  retryPolicy,
  timeout,
};
const NAMES = new Map<z.core.$ZodType, string>(Object.entries(NAMED).map(([name, shape]) => [shape, name]));

/**
 * JSON Schema 2020-12 of definitions; `document` may be missing, because Cadenza completes it.
 * @param agents what `call: agent` offers and checks
 */
export function definitionSchema(id: string, agents: readonly AgentInput[] = []): JsonSchema {
  const { properties, ...definition } = converted(definitionShape);
  const { use, ...others } = properties as Record<string, JsonSchema>;
  const functions = { type: 'object', additionalProperties: TASK };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: id,
    title: 'Open Workflow Specification DSL 1.0.x, as Cadenza reads it',
    ...definition,
    properties: {
      ...others,
      use: { ...use, properties: { ...(use?.['properties'] as JsonSchema), functions } },
    },
    required: ['do'],
    $defs: {
      taskList: {
        type: 'array',
        items: { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: TASK },
      },
      ...Object.fromEntries(Object.entries(NAMED).map(([name, shape]) => [name, converted(shape)])),
      task: {
        anyOf: [...Object.values(KINDS).map(({ schema }) => converted(schema)), ...callSchemas(agents)],
      },
      ...(agents.length === 0 ? {} : { expression: expressionSchema }),
    },
  };
}

/** JSON Schema of the arguments of a function; named parts are those of the schema of definitions at `id`. */
export function argumentsSchema(name: CallFunction, id: string): JsonSchema {
  const text = JSON.stringify(converted(CALLS[name].arguments));
  // Text of the shapes themselves never contains this reference.
  return JSON.parse(text.replaceAll('"$ref":"#/', `"$ref":"${id}#/`)) as JsonSchema;
}

/** One schema for each function that `call` names, and one for functions of the definition. */
function callSchemas(agents: readonly AgentInput[]): JsonSchema[] {
  const known: string[] = [];
  const schemas = [...CALL_SHAPES].map(([name, shape]) => {
    const names = isCatalogFunction(name) ? [name, catalogName(name)] : [name];
    known.push(...names);
    const schema = withCall(shape, { enum: names });
    return name === 'agent' ? withArguments(schema, (given) => withAgents(given, agents)) : schema;
  });
  return [...schemas, withCall(functionShape, { type: 'string', minLength: 1, not: { enum: known } })];
}

function withArguments(schema: JsonSchema, change: (given: JsonSchema) => JsonSchema): JsonSchema {
  const properties = schema['properties'] as JsonSchema;
  return { ...schema, properties: { ...properties, with: change(properties['with'] as JsonSchema) } };
}

function withCall(shape: z.ZodType, call: JsonSchema): JsonSchema {
  const { properties, ...schema } = converted(shape);
  return { ...schema, properties: { ...(properties as JsonSchema), call } };
}

function converted(shape: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const name = isSame(zodSchema, shape) ? undefined : NAMES.get(zodSchema);
      const replacement = name === undefined ? special(zodSchema) : { $ref: `#/$defs/${name}` };
      if (replacement === null) return;
      for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key);
      Object.assign(jsonSchema, replacement);
    },
  });
  return schema;
}

/** The schema of shapes that zod cannot convert; null for all others. */
function special(shape: z.core.$ZodType): JsonSchema | null {
  if (shape === duration) return { type: ['string', 'object'] };
  if (shape instanceof z.ZodArray && shape.element === taskList.element) return TASK_LIST;
  const alternatives = alternativesOf(shape);
  if (alternatives === undefined) return null;
  return {
    anyOf: alternatives.map(({ type, schema }) => ({
      ...(type === null ? {} : { type }),
      ...converted(schema),
    })),
  };
}

function isSame(shape: z.core.$ZodType, other: z.core.$ZodType): boolean {
  return shape === other;
}
