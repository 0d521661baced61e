/** `call: mcp` (dsl-reference.md "MCP Call"). */
import type { McpArguments } from '../../../language/definition/model.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { toMs } from '../run-task.ts';
import { endpointIn, uriIsText } from './endpoint.ts';
import { call, callLimitMs, requestOf, type Check } from './http.ts';

export function callMcp(
  execution: Execution,
  args: McpArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { transport, timeout, ...rest } = args;
  const { http } = transport;
  const prepared = {
    ...rest,
    transport: {
      ...transport,
      ...(http === undefined
        ? {}
        : { http: { ...http, endpoint: endpointIn(execution, http.endpoint, task, input) } }),
    },
  };
  const check: Check = (resolved, deferred) => {
    if (http === undefined) return;
    const { endpoint } = (resolved['transport'] as { http: typeof http }).http;
    uriIsText(http.endpoint, endpoint, '/transport/http/endpoint', deferred, task);
  };
  const request = requestOf(execution, 'mcp', prepared, check, task, input, at);
  const ownMs = timeout === undefined ? undefined : toMs(timeout, at, input);
  return call(execution, { ...request, timeout_ms: callLimitMs(task, ownMs) }, task);
}
