/** Schemas of tools, which MCP wants to be those of objects. */
import { agentKind } from '../../contracts/agent-configuration.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { RUN_STATUSES } from '../../contracts/run-events.ts';
import type { ToolSource } from '../../domain/registry/tool-lists.ts';

type Schema = Record<string, unknown>;
export interface ObjectSchema extends Schema {
  type: 'object';
}

/** A deeper schema is left out of a tool. */
const MAX_DEPTH = 32;

/** The argument that stands for the whole input, where the input is no object. */
const WHOLE = 'input';

export interface ToolInput {
  schema: ObjectSchema;
  /** The agent's input for a tool's arguments. */
  inputOf(given: Record<string, unknown>): unknown;
}

const text = (description: string): Schema => ({ type: 'string', description });
const FILES: Schema = {
  type: 'array',
  description: 'Files of this server, as upload_file and results name them.',
  items: { type: 'object', properties: { file_id: { type: 'string' } }, required: ['file_id'] },
};

/** What kinds of agents take that have no input schema. */
function defaultInput(source: ToolSource): ObjectSchema {
  const kind = source.kind === 'workflow' ? 'workflow' : agentKind({ ...source, configuration: null });
  if (kind === 'llm' && !source.has_prompt)
    return {
      type: 'object',
      properties: { text: text('What the language model is asked.'), files: FILES },
      required: ['text'],
    };
  if (kind === 'a2a')
    return {
      type: 'object',
      properties: { text: text('The message to the agent.'), data: { description: 'JSON.' }, files: FILES },
    };
  return { type: 'object', description: 'Any JSON object: the input has no schema.' };
}

export function toolInput(source: ToolSource): ToolInput {
  const own = source.input_schema;
  const asIs = (given: Record<string, unknown>): unknown => given;
  if (own === null || Object.keys(own).length === 0) return { schema: defaultInput(source), inputOf: asIs };
  if (own['type'] === 'object') return { schema: { ...own, type: 'object' }, inputOf: asIs };
  if (own['type'] === undefined && isRecord(own['properties']))
    return { schema: { ...own, type: 'object' }, inputOf: asIs };
  return {
    schema: {
      type: 'object',
      properties: { [WHOLE]: moved(own, `/properties/${WHOLE}`) },
      required: [WHOLE],
    },
    inputOf: (given) => given[WHOLE],
  };
}

/** What every tool returns that runs something. `output` is there once the run has completed. */
export function runResultSchema(output: Schema | null): ObjectSchema {
  return {
    type: 'object',
    properties: {
      run_id: { type: 'string' },
      status: { type: 'string', enum: RUN_STATUSES },
      output: output === null ? {} : moved(output, '/properties/output'),
      error: { type: 'object', description: 'Why the run faulted.' },
      waiting_for: { type: 'array', items: { type: 'object' }, description: 'What the run waits for.' },
    },
    required: ['run_id', 'status'],
  };
}

/** The schema at another place of a document: references to its root follow. Open if that is unsafe. */
function moved(schema: Schema, place: string): Schema {
  try {
    const result = withReferences(schema, place, 0);
    return isRecord(result) ? result : {};
  } catch (error) {
    if (error instanceof Immovable) return {};
    throw error;
  }
}

class Immovable extends Error {}

function withReferences(value: unknown, place: string, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new Immovable();
  if (Array.isArray(value)) return value.map((one) => withReferences(one, place, depth + 1));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (key === '$schema' && typeof inner === 'string') return [];
      if (key === '$ref' && typeof inner === 'string') {
        if (inner !== '#' && !inner.startsWith('#/')) throw new Immovable();
        return [[key, `#${place}${inner.slice(1)}`]];
      }
      if (['$id', '$anchor', '$dynamicRef', '$dynamicAnchor'].includes(key) && typeof inner === 'string')
        throw new Immovable();
      return [[key, withReferences(inner, place, depth + 1)]];
    }),
  );
}
