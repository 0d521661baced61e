/** Kind of counterpart → adapter. */
import { agentKind } from '../contracts/agent-configuration.ts';
import { fault } from '../contracts/fault.ts';
import type { Adapters, AgentAdapter } from '../domain/ports.ts';
import { createA2aCaller } from './a2a/call-a2a.ts';
import { createA2aAdapter } from './a2a/create-a2a-adapter.ts';
import { createHttpCaller } from './call-http.ts';
import { createOpenApiCaller } from './call-openapi.ts';
import type { EgressPolicy } from './egress.ts';
import { createHttpAdapter } from './http.ts';
import { openRemoteFile } from './remote-file.ts';
import { createLlmAdapter } from './llm.ts';
import { createTokenSource } from './oauth-token.ts';

export { createEgressPolicy } from './egress.ts';
export type { EgressPolicy } from './egress.ts';

const HEARTBEAT_INTERVAL_MS = 2_000;

const NOT_YET = new Set(['docker', 'vision', 'audio', 'sensor', 'framework', 'edge']);

export function createAdapters(deps: { egress: EgressPolicy }): Adapters {
  const tools = { egress: deps.egress, tokens: createTokenSource(deps.egress) };
  const byKind: Record<string, AgentAdapter> = { api: createHttpAdapter(tools), llm: createLlmAdapter(tools), a2a: createA2aAdapter(tools) };
  const caller = createHttpCaller(tools);
  const openApiCaller = createOpenApiCaller(tools);
  const a2aCaller = createA2aCaller(tools);
  return {
    invoke: (call) => beating(call, () => adapterOf(byKind, agentKind(call.agent)).invoke(call)),
    http: (call) => beating(call, () => caller.http(call)),
    openapi: (call) => beating(call, () => openApiCaller.openapi(call)),
    a2a: (call) => beating(call, () => a2aCaller.a2a(call)),
    openFile: (request) => openRemoteFile(deps.egress, request),
  };
}

function adapterOf(byKind: Record<string, AgentAdapter>, kind: string): AgentAdapter {
  const adapter = byKind[kind];
  if (adapter !== undefined) return adapter;
  if (NOT_YET.has(kind)) throw fault('configuration', `Agents of kind "${kind}" can be registered, but invoking them is not available yet`);
  if (kind === 'workflow') throw fault('runtime', 'An agent of kind "workflow" is a run of its own, not a call');
  throw fault('configuration', `Agents of kind "${kind}" cannot be invoked`);
}

async function beating<T>(call: { heartbeat(): void }, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => call.heartbeat(), HEARTBEAT_INTERVAL_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
