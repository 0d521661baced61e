/** Agents of kind `framework`: graphs on a LangGraph server, and tools of MCP servers. */
import {
  frameworkConfiguration,
  type FrameworkConfiguration,
} from '../../contracts/agent-kinds/framework.ts';
import { fault } from '../../contracts/fault.ts';
import type { AgentAdapter, AgentCall, AgentResult } from '../../domain/ports.ts';
import { OwnFailure, markOwnFailures } from '../a2a/own-failure.ts';
import { agentCredentials } from '../authentication/agent-authentication.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import { headerSafe, parseConfiguration } from '../call-settings.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { webUrl } from '../egress/web-url.ts';
import { guardedAgent } from '../guarded-agent.ts';
import type { CallGuard } from '../guarded-call.ts';
import { headersOf } from '../http/message.ts';
import { renderTemplate } from '../secrets/templates.ts';
import type { FrameworkCall } from './framework-call.ts';
import { callGraph } from './langgraph/call-graph.ts';
import { callTool } from './mcp/call-tool.ts';

export function createFrameworkAdapter(tools: { egress: EgressPolicy; tokens: TokenSource }): AgentAdapter {
  return {
    async invoke(given) {
      const call = markOwnFailures(given);
      const configuration = parseConfiguration(frameworkConfiguration, call.agent.configuration);
      const { framework, timeout } = configuration;
      if (framework === undefined)
        throw fault('configuration', 'The agent has no "framework" in its configuration');
      const stored = [configuration, call.agent.url, call.agent.authentication_config];
      try {
        return await guardedAgent(call, { timeout, stored }, async (guard): Promise<AgentResult> => {
          const prepared = await prepare(tools, call, configuration, guard);
          return framework === 'mcp' ? callTool(prepared) : callGraph(prepared);
        });
      } catch (error) {
        throw error instanceof OwnFailure ? error.cause : error;
      }
    },
  };
}

async function prepare(
  { egress, tokens }: { egress: EgressPolicy; tokens: TokenSource },
  call: AgentCall,
  configuration: FrameworkConfiguration,
  guard: CallGuard,
): Promise<FrameworkCall> {
  const { base_url: baseUrl, api_key: apiKey, headers, framework } = configuration;
  const { sensitive } = guard;
  const address = baseUrl ?? call.agent.url;
  if (!address) throw fault('configuration', 'The agent has no "base_url" in its configuration and no url');
  const limits = { agent: call.agent, signal: guard.signal, timeoutMs: guard.leftMs() };
  const credentials = await agentCredentials(limits, sensitive, tokens);
  const key = apiKey === undefined ? null : sensitive.fill(apiKey);
  return {
    egress,
    call,
    configuration,
    guard,
    url: webUrl(credentials.withQuery(sensitive.fill(address))),
    headers: {
      'user-agent': 'Cadenza',
      'idempotency-key': headerSafe(call.idempotencyKey),
      ...(key === null
        ? {}
        : framework === 'mcp'
          ? { authorization: `Bearer ${key}` }
          : { 'x-api-key': key }),
      ...credentials.headers,
      ...headersOf(renderTemplate(headers, call.input, sensitive, 'headers')),
    },
  };
}
