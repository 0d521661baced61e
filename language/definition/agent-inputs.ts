/** The inputs of agents as a part of the language's JSON Schema, so that editors complete and check them. */
import { isRecord } from '../../contracts/is-record.ts';

type JsonSchema = Record<string, unknown>;

export interface AgentInput {
  name: string;
  description: string | null;
  /** Null: unknown, too large, or there are several agents of this name. */
  input_schema: unknown;
}

/** What an editor shows or checks in a single value. All other words of JSON Schema are left out. */
const KEPT = (
  'title description default examples type enum const format pattern required minimum maximum ' +
  'exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems ' +
  'minProperties maxProperties'
).split(' ');
const MAX_DEPTH = 8;
const EXPRESSION = { $ref: '#/$defs/expression' };

/** A text with an expression, which may stand for any value of an input. */
export const expressionSchema: JsonSchema = {
  type: 'string',
  pattern: '\\$\\{',
  description: 'A runtime expression, such as ${ .order.id }',
};

/** `with` of `call: agent`, with the names of agents, and for each its input. */
export function withAgents(shape: JsonSchema, agents: readonly AgentInput[]): JsonSchema {
  if (agents.length === 0) return shape;
  const properties = isRecord(shape['properties']) ? shape['properties'] : {};
  const known = agents.map(({ name, description }) => ({
    const: name,
    ...(description === null ? {} : { description }),
  }));
  const inputs = agents.filter(({ input_schema: schema }) => isRecord(schema));
  return {
    ...shape,
    properties: { ...properties, agent: { anyOf: [...known, { type: 'string', minLength: 1 }] } },
    ...(inputs.length === 0
      ? {}
      : {
          allOf: inputs.map(({ name, input_schema: schema }) => ({
            if: { properties: { agent: { const: name } }, required: ['agent'] },
            then: { properties: { input: orExpression(schema, 1) } },
          })),
        }),
  };
}

/** The schema of a value in which expressions may stand for values. */
function orExpression(schema: unknown, depth: number): JsonSchema {
  // References lead into a document that is not here.
  if (!isRecord(schema) || depth > MAX_DEPTH || '$ref' in schema || '$dynamicRef' in schema) return {};
  const kept = KEPT.filter((word) => Object.hasOwn(schema, word)).map(
    (word) => [word, schema[word]] as const,
  );
  const { properties, items, additionalProperties: others } = schema;
  const value: JsonSchema = {
    ...Object.fromEntries(kept),
    ...(isRecord(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, inner]) => [name, orExpression(inner, depth + 1)]),
          ),
        }
      : {}),
    ...(isRecord(items) ? { items: orExpression(items, depth + 1) } : {}),
    ...(typeof others === 'boolean' ? { additionalProperties: others } : {}),
    ...(isRecord(others) ? { additionalProperties: orExpression(others, depth + 1) } : {}),
  };
  const { title, description } = value;
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    anyOf: [value, EXPRESSION],
  };
}
