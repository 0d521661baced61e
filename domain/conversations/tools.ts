/**
 * The tools of a language model, found with the rights of the agent's owner and fixed when its loop begins
 * (docs/llm-agents.md).
 */
import type { LlmTool } from '../../contracts/agent-kinds/llm-tools.ts';
import { fault } from '../../contracts/fault.ts';
import type { Candidates } from '../../contracts/hitl.ts';
import { MAX_TOOLS, type HumanTool, type LoopTool } from '../../contracts/tool-loop.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { durationToMs } from '../../language/definition/duration.ts';
import { jsonSchemaProblems } from '../../language/schema/well-formed.ts';
import type { PinnedAgent } from '../ports.ts';
import { usableBy } from '../auth/ownership.ts';
import { nameOne, type Reader } from '../registry/name-warnings.ts';
import { pinAgent } from '../registry/pin.ts';

/** A tool of a server, as it lists it (MCP "Tools"). */
interface ListedTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

/** As a conversation keeps it. */
export interface StoredTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments, of type object. */
  parameters: Record<string, unknown>;
  /** Set if the schema has mistakes, or words that we do not know: the server checks the arguments itself. */
  unchecked?: true;
  /** The tool's input is the argument `input`, because its own schema is not of an object. */
  wrapped: boolean;
  /** `always`, `never`, or jq on the arguments. */
  approval: string;
  approvers?: Candidates;
  target:
    | { kind: 'agent'; snapshot: PinnedAgent; rights_of: string }
    | { kind: 'workflow'; id: string; revision: number; rights_of: string }
    /** `rights_of`: whose secrets it uses. */
    | { kind: 'mcp'; server: McpServer; tool: string; rights_of: string }
    | { kind: 'human'; question: HumanTool };
}

interface McpServer {
  /** Placeholders of secrets are as stored. */
  url: string;
  headers: Record<string, unknown>;
  /** False: a call with an unknown outcome is not repeated. */
  idempotent: boolean;
}

type Common = Pick<StoredTool, 'approval' | 'approvers'>;

/** With whose rights tools are found, and who is told why one is not. */
interface Finding {
  ownerId: string;
  reader: Reader;
}

const PRIORITY = 50;
const MAX_NAME = 64;

/** Reads the tools of a server. Called outside of a transaction. */
export type ListTools = (server: McpServer, only: readonly string[] | undefined) => Promise<ListedTool[]>;

/** @throws Fault that names the tool that does not exist, or the server that does not answer */
export async function resolveTools(
  em: EntityManager,
  { ownerId, reader }: Finding,
  tools: readonly LlmTool[],
  listTools: ListTools,
): Promise<StoredTool[]> {
  const found: StoredTool[] = [];
  for (const tool of tools) {
    const common = { approval: tool.approval ?? 'never', ...approversOf(tool) };
    if ('agent' in tool) found.push(await agentTool(em, { ownerId, reader }, tool, common));
    else if ('workflow' in tool) found.push(await workflowTool(em, { ownerId, reader }, tool, common));
    else if ('mcp' in tool) found.push(...(await mcpTools(ownerId, tool, common, listTools)));
    else found.push(humanTool(tool, common));
  }
  if (found.length > MAX_TOOLS)
    throw fault('configuration', `The agent has ${found.length} tools, and may have ${MAX_TOOLS}`);
  return withUniqueNames(found);
}

/** Without schemas, for the workflow. */
export function loopTool({ name, target, approvers, wrapped }: StoredTool): LoopTool {
  const isShort = target.kind === 'agent' || target.kind === 'mcp';
  return {
    name,
    target: isShort ? { kind: target.kind } : target,
    ...(wrapped ? { wrapped } : {}),
    ...(approvers ? { approvers } : {}),
  };
}

async function agentTool(
  em: EntityManager,
  { ownerId, reader }: Finding,
  tool: Extract<LlmTool, { agent: unknown }>,
  common: Common,
): Promise<StoredTool> {
  const { agent, version } = tool;
  const pinned = await pinAgent(em, ownerId, { agent, version }, undefined, reader);
  if (!pinned.found) throw fault('configuration', `The tool ${toolLabel(tool)}: ${pinned.message}`);
  const { pinned: snapshot } = pinned;
  const [row] = await em.execute<{ description: string | null }[]>(
    `select description from agent where id = ?`,
    [snapshot.id],
  );
  return {
    ...common,
    name: tool.name ?? slug(snapshot.name),
    description: tool.description ?? row?.description ?? `The agent ${snapshot.name}`,
    ...parametersFor(snapshot.input_schema),
    target: { kind: 'agent', snapshot, rights_of: ownerId },
  };
}

interface WorkflowRow {
  id: string;
  name: string;
  description: string | null;
  holder_id: string;
  revision: number;
  input_schema: Record<string, unknown> | boolean | null;
}

async function workflowTool(
  em: EntityManager,
  { ownerId, reader }: Finding,
  tool: Extract<LlmTool, { workflow: unknown }>,
  common: Common,
): Promise<StoredTool> {
  const rows = await em.execute<WorkflowRow[]>(
    `select w.id, w.name, w.description, w.holder_id, v.revision, v.input_schema
       from workflow w join workflow_revision v
              on v.workflow_id = w.id and v.revision = coalesce(?::int, w.revision)
      where ${isUuid(tool.workflow) ? 'w.id = ?::uuid' : 'w.name = ?'} and w.archived_at is null
        and ${usableBy('w')}
      order by (w.holder_id = ?) desc, w.id desc limit 2`,
    [tool.revision ?? null, tool.workflow, ownerId, ownerId],
  );
  const [first, second] = rows;
  if (!first)
    throw fault('configuration', `The tool ${toolLabel(tool)}: there is no such workflow that may be used`);
  if (second && (first.holder_id === ownerId) === (second.holder_id === ownerId)) {
    const which = await nameOne(em, 'workflow', tool.workflow, ownerId, reader);
    throw fault(
      'configuration',
      `The tool ${toolLabel(tool)}: there are several workflows of this name: ${which}`,
    );
  }
  const { input_schema: schema } = first;
  return {
    ...common,
    name: tool.name ?? slug(first.name),
    description: tool.description ?? first.description ?? `The workflow ${first.name}`,
    ...(schema === null || typeof schema === 'boolean'
      ? { parameters: { type: 'object' }, wrapped: false }
      : parametersFor(schema)),
    target: { kind: 'workflow', id: first.id, revision: first.revision, rights_of: ownerId },
  };
}

async function mcpTools(
  ownerId: string,
  tool: Extract<LlmTool, { mcp: unknown }>,
  common: Common,
  listTools: ListTools,
): Promise<StoredTool[]> {
  const { url, headers = {}, tools: only, retry } = tool.mcp;
  const server = { url, headers, idempotent: retry?.idempotent !== false };
  const listed = await listTools(server, only);
  const missing = only?.filter((name) => !listed.some((one) => one.name === name)) ?? [];
  if (missing.length > 0)
    throw fault('configuration', `The MCP server ${toolLabel(tool)} has no tool ${missing.join(', ')}`);
  return listed
    .filter(({ name }) => only === undefined || only.includes(name))
    .map(({ name, description, parameters }) => ({
      ...common,
      name: slug(tool.name === undefined ? name : `${tool.name}_${name}`),
      description: [tool.description, description].filter(Boolean).join('\n'),
      ...parametersFor(parameters),
      ...(jsonSchemaProblems(parameters, { warnings: false }).length > 0 ? { unchecked: true as const } : {}),
      target: { kind: 'mcp', server, tool: name, rights_of: ownerId },
    }));
}

function humanTool(tool: Extract<LlmTool, { human: unknown }>, common: Common): StoredTool {
  const { candidates, assignee, priority, form, expires } = tool.human;
  const [mistake] = form === undefined ? [] : jsonSchemaProblems(form, { warnings: false });
  if (mistake)
    throw fault('configuration', `The form of ${toolLabel(tool)}${mistake.pointer}: ${mistake.message}`);
  return {
    ...common,
    name: tool.name ?? 'ask_person',
    description: tool.description ?? 'Asks a person a question and waits for the answer.',
    parameters: {
      type: 'object',
      required: ['question'],
      properties: {
        question: { type: 'string', minLength: 1, maxLength: 2_000 },
        details: { description: 'What the person should know to answer: text, or any JSON' },
      },
      additionalProperties: false,
    },
    wrapped: false,
    target: {
      kind: 'human',
      question: {
        assignee: assignee ?? null,
        candidates: candidatesOf(candidates),
        priority: priority ?? PRIORITY,
        form: form ?? null,
        expires_ms:
          expires === undefined ? null : typeof expires === 'number' ? expires : durationToMs(expires),
      },
    },
  };
}

function approversOf({ approvers }: LlmTool): { approvers?: Candidates } {
  return approvers === undefined ? {} : { approvers: candidatesOf(approvers) };
}

function candidatesOf(
  given: { [Kind in 'users' | 'roles' | 'groups' | 'teams']?: string[] | undefined } = {},
): Candidates {
  const { users = [], roles = [], groups = [], teams } = given;
  return { users, roles, groups, ...(teams === undefined ? {} : { teams }) };
}

/** Models take schemas of objects only. */
function parametersFor(schema: Record<string, unknown>): Pick<StoredTool, 'parameters' | 'wrapped'> {
  if (schema['type'] === 'object') return { parameters: schema, wrapped: false };
  const isOpen = Object.keys(schema).length === 0;
  if (!isOpen && schema['type'] === undefined && 'properties' in schema)
    return { parameters: { type: 'object', ...schema }, wrapped: false };
  const input = isOpen ? { description: 'The input: a text, or any JSON' } : schema;
  // References of the schema begin at its own root, which these stand beside.
  const { $defs, definitions } = schema;
  const parameters = {
    type: 'object',
    required: ['input'],
    properties: { input },
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
  return { parameters, wrapped: true };
}

/** The letters that all providers take. */
function slug(name: string): string {
  const letters = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return (letters === '' ? 'tool' : letters).slice(0, MAX_NAME);
}

function withUniqueNames(tools: StoredTool[]): StoredTool[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    let { name } = tool;
    for (let n = 2; taken.has(name); n++) name = `${tool.name.slice(0, MAX_NAME - 4)}_${n}`;
    taken.add(name);
    return { ...tool, name };
  });
}

/** For messages. */
function toolLabel(tool: LlmTool): string {
  const { name } = tool;
  if (name !== undefined) return name;
  if ('agent' in tool) return JSON.stringify(tool.agent);
  if ('workflow' in tool) return JSON.stringify(tool.workflow);
  return 'mcp' in tool ? tool.mcp.url : 'ask_person';
}
