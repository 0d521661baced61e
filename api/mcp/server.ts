/** The MCP server of one request: its tools and resources, by the caller's rights. */
import { ProtocolError, ProtocolErrorCode, Server, type CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';

import { hasRole, type Actor } from '../../domain/auth/actor.ts';
import { listToolSources } from '../../domain/registry/tool-lists.ts';
import { toAppError } from '../middleware/errors.ts';
import { unstorable } from '../middleware/body.ts';
import { hasScope } from '../scopes.ts';
import type { McpCall, Progress } from './call.ts';
import { decodeCursor, encodeCursor, type Cursor } from './cursor.ts';
import { callPlatformTool, platformTools } from './platform-tools.ts';
import { listResources, noResource, readResource, RESOURCE_TEMPLATES } from './resources.ts';
import { toolError } from './results.ts';
import { callRunTool, describeTool, type ListedTool } from './run-tools.ts';

const PAGE_SIZE = 100;
const INSTRUCTIONS =
  'The tools run agents and workflows of Cadenza. Each call is a run that goes on by itself: if its result ' +
  'is not there yet, call get_run. A run may wait until a person decides.';

export function createMcpServer(call: McpCall): Server {
  const server = new Server(
    { name: 'cadenza', title: 'Cadenza', version: '0.1.0' },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', async ({ params }) => {
    call.hasRead();
    return listTools(call, params?.cursor);
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) =>
    callTool(call, params.name, params.arguments ?? {}, mcpReq),
  );
  server.setRequestHandler('resources/list', async ({ params }) =>
    protocolErrors(call, () => listResources(call, params?.cursor)),
  );
  server.setRequestHandler('resources/templates/list', async () => {
    call.hasRead();
    return { resourceTemplates: RESOURCE_TEMPLATES };
  });
  server.setRequestHandler('resources/read', async ({ params }) =>
    protocolErrors(call, () => readResource(call, params.uri), params.uri),
  );
  return server;
}

/** First the platform's own tools, then agents, then workflows, each newest first. */
async function listTools(
  call: McpCall,
  cursor: string | undefined,
): Promise<{ tools: ListedTool[]; nextCursor?: string }> {
  const { deps, actor } = call;
  const [list, after] = cursor === undefined ? (['agent', undefined] as Cursor) : decodeCursor(cursor);
  const first = cursor === undefined ? platformTools(actor) : [];
  if (!mayRun(actor)) return { tools: first };
  const kind = list === 'agent' ? 'agent' : 'workflow';
  const page = { after: after ?? null, limit: PAGE_SIZE + 1 };
  const sources = await listToolSources(deps.orm.em.fork(), actor, kind, page);
  const shown = sources.slice(0, PAGE_SIZE);
  const last = shown.at(-1);
  const next: Cursor | null =
    sources.length > PAGE_SIZE && last ? [kind, last.id] : kind === 'agent' ? ['workflow', undefined] : null;
  return {
    tools: [...first, ...shown.map(describeTool)],
    ...(next === null ? {} : { nextCursor: encodeCursor(next) }),
  };
}

const mayRun = (actor: Actor): boolean => hasRole(actor, 'builder') && hasScope(actor, 'runs:write');

/** Refusals and failures are results that the model reads. @throws ProtocolError for an unknown tool */
async function callTool(
  call: McpCall,
  name: string,
  given: Record<string, unknown>,
  request: Progress,
): Promise<CallToolResult> {
  const { actor, deps } = call;
  try {
    const [bad] = unstorable(given);
    call.hasRead();
    if (bad) return toolError(`${bad.pointer}: ${bad.message}`);
    const own = await callPlatformTool(call, name, given, request);
    if (own !== null) return own;
    const result = mayRun(actor) ? await callRunTool(call, name, given, request) : null;
    if (result !== null) return result;
  } catch (error) {
    if (error instanceof z.ZodError)
      return toolError(
        error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`).join('\n'),
      );
    const known = toAppError(error);
    if (known === null) {
      deps.logger.error({ err: error, tool: name.slice(0, 200) }, 'a tool call failed');
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error');
    }
    const fields = (known.errors ?? []).map(({ pointer, message }) => `${pointer}: ${message}`);
    return toolError([known.detail, ...fields].join('\n'));
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 200)}`);
}

async function protocolErrors<T>(call: McpCall, work: () => Promise<T>, uri = ''): Promise<T> {
  call.hasRead();
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const known = toAppError(error);
    if (known?.kind === 'not_found') throw noResource(uri);
    call.deps.logger.error({ err: error }, 'a request for a resource failed');
    throw new ProtocolError(ProtocolErrorCode.InternalError, known?.detail ?? 'Internal error');
  }
}
