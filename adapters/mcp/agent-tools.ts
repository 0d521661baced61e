/** MCP servers as tools of language models: lists their tools and calls them (MCP "Tools"). */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { MAX_TOOLS } from '../../contracts/tool-loop.ts';
import { placeholderNames } from '../../contracts/placeholders.ts';
import type { Adapters, HttpCall, HttpResult } from '../../domain/ports.ts';
import { loadSensitive } from '../secrets/sensitive.ts';

export interface ServerAddress {
  /** Secrets stand as placeholders in both. */
  url: string;
  headers: Record<string, unknown>;
}

interface Listed {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

type Caller = Pick<Adapters, 'mcp'>;
/** `secret` reads the store of the agent's owner. */
type CallOf = Pick<HttpCall, 'idempotencyKey' | 'timeoutMs' | 'signal' | 'secret'>;

const MAX_PAGES = 20;
/** Twice what the protocol recommends. */
const MAX_NAME = 256;
/** Servers may say more than a model should read. */
const MAX_DESCRIPTION = 4_000;
const MAX_SCHEMA = 64 * 1024;
/** Of what a tool says when it fails; an error is in the log as a whole. */
const MAX_REASON = 8_000;

/** The tools of a server, or only those named. @throws Fault */
export async function listMcpTools(
  adapters: Caller,
  server: ServerAddress,
  only: readonly string[] | undefined,
  call: CallOf,
): Promise<Listed[]> {
  const listed: Listed[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page++) {
    const parameters = typeof cursor === 'string' ? { cursor } : {};
    const { output } = await request(adapters, server, { method: 'tools/list', parameters }, call);
    const tools = isRecord(output) && Array.isArray(output['tools']) ? output['tools'] : [];
    for (const tool of tools) {
      const known = isWanted(tool, only) ? toolOf(tool) : null;
      if (known) listed.push(known);
    }
    if (listed.length > MAX_TOOLS)
      throw fault(
        'configuration',
        `The MCP server has more than ${MAX_TOOLS} tools: name those that the model may use`,
      );
    cursor = isRecord(output) ? output['nextCursor'] : undefined;
    if (typeof cursor !== 'string') return listed;
  }
  return listed;
}

function isWanted(tool: unknown, only: readonly string[] | undefined): boolean {
  return only === undefined || (isRecord(tool) && only.some((name) => name === tool['name']));
}

function toolOf(tool: unknown): Listed | null {
  if (!isRecord(tool) || typeof tool['name'] !== 'string' || tool['name'].length > MAX_NAME) return null;
  const { name, description, inputSchema } = tool;
  const schema = isRecord(inputSchema) ? inputSchema : { type: 'object' };
  if (JSON.stringify(schema).length > MAX_SCHEMA)
    throw fault('configuration', `The schema of the MCP tool ${name} has more than ${MAX_SCHEMA} characters`);
  return {
    name,
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : '',
    parameters: schema,
  };
}

/** Output: the structured content, else the texts, else all content. @throws Fault if the tool fails */
export async function callMcpTool(
  adapters: Caller,
  server: ServerAddress,
  name: string,
  args: unknown,
  call: CallOf,
): Promise<HttpResult> {
  const parameters = { name, arguments: args };
  const result = await request(adapters, server, { method: 'tools/call', parameters }, call);
  const { output } = result;
  if (!isRecord(output)) return result;
  const content = Array.isArray(output['content']) ? output['content'] : [];
  const texts = content.filter(
    (part): part is { text: string } => isRecord(part) && typeof part['text'] === 'string',
  );
  const text = texts.map((part) => part.text).join('\n');
  if (output['isError'] === true)
    throw fault('runtime', text === '' ? 'The tool failed' : text.slice(0, MAX_REASON));
  if (output['structuredContent'] !== undefined) return { ...result, output: output['structuredContent'] };
  return { ...result, output: texts.length === content.length ? text : content };
}

async function request(
  adapters: Caller,
  { url, headers }: ServerAddress,
  { method, parameters }: { method: string; parameters: Record<string, unknown> },
  call: CallOf,
): Promise<HttpResult> {
  const sensitive = await loadSensitive([url, headers], call.secret);
  const { fill } = sensitive;
  const filledHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? fill(value) : value]),
  );
  const transport = { http: { endpoint: fill(url), headers: filledHeaders } };
  const result = await adapters.mcp({
    ...call,
    with: { method, parameters, transport },
    sensitive: [...placeholderNames([url, headers])].map(sensitive.value),
  });
  return { ...result, output: sensitive.clean(result.output) };
}
