/** Maps each kind of counterpart to its adapter. */
import { agentKind } from '../contracts/agent-configuration.ts';
import { fault } from '../contracts/fault.ts';
import type { McpCommands } from '../contracts/mcp-commands.ts';
import type { Adapters, AgentAdapter } from '../domain/ports.ts';
import { createA2aCaller } from './a2a/call-a2a.ts';
import { createA2aAdapter } from './a2a/create-a2a-adapter.ts';
import { createAsyncApiCaller } from './asyncapi/call-asyncapi.ts';
import { createGrpcCaller } from './grpc/call-grpc.ts';
import { authorizationOf } from './http/call-exchange.ts';
import { createHttpCaller } from './http/call-http.ts';
import { createMcpCaller } from './mcp/call-mcp.ts';
import { createOpenApiCaller } from './openapi/call-openapi.ts';
import type { EgressPolicy } from './egress/egress.ts';
import { createHttpAdapter } from './http/http-agent.ts';
import { openRemoteFile } from './files/remote-file.ts';
import { createLlmAdapter } from './llm/llm-agent.ts';
import { createVisionAdapter } from './vision/vision-agent.ts';
import { createAudioAdapter } from './audio/audio-agent.ts';
import { createFrameworkAdapter } from './framework/framework-agent.ts';
import { createSensorAdapter } from './sensor/sensor-agent.ts';
import { createTokenSource } from './authentication/oauth-token.ts';

export { createEgressPolicy } from './egress/create-egress-policy.ts';
export type { EgressPolicy } from './egress/egress.ts';

/** `mcpCommands`: the programs that `call: mcp` may start. Default: none. */
export function createAdapters(deps: { egress: EgressPolicy; mcpCommands?: McpCommands }): Adapters {
  const tools = { egress: deps.egress, tokens: createTokenSource(deps.egress) };
  const byKind: Record<string, AgentAdapter> = {
    api: createHttpAdapter(tools),
    llm: createLlmAdapter(tools),
    a2a: createA2aAdapter(tools),
    vision: createVisionAdapter(tools),
    audio: createAudioAdapter(tools),
    sensor: createSensorAdapter(tools),
    framework: createFrameworkAdapter(tools),
  };
  const caller = createHttpCaller(tools);
  const openApiCaller = createOpenApiCaller(tools);
  const a2aCaller = createA2aCaller(tools);
  const asyncApiCaller = createAsyncApiCaller(tools);
  const grpcCaller = createGrpcCaller(tools);
  const mcpCaller = createMcpCaller({ ...tools, commands: deps.mcpCommands ?? {} });
  return {
    invoke: async (call) => adapterOf(byKind, agentKind(call.agent)).invoke(call),
    http: (call) => caller.http(call),
    openapi: (call) => openApiCaller.openapi(call),
    a2a: (call) => a2aCaller.a2a(call),
    grpc: (call) => grpcCaller.grpc(call),
    mcp: (call) => mcpCaller.mcp(call),
    authorization: (policy, call) => authorizationOf(tools, policy, call),
    asyncapi: (call) => asyncApiCaller.asyncapi(call),
    openFile: (request) => openRemoteFile(deps.egress, request),
  };
}

function adapterOf(byKind: Record<string, AgentAdapter>, kind: string): AgentAdapter {
  const adapter = byKind[kind];
  if (adapter !== undefined) return adapter;
  if (kind === 'workflow' || kind === 'docker')
    throw fault('runtime', `An agent of kind "${kind}" is a run or a process of its own, not a call`);
  if (kind === 'edge')
    throw fault('runtime', 'The jobs of an agent of kind "edge" are pulled by its workers');
  throw fault('configuration', `Agents of kind "${kind}" cannot be invoked`);
}
