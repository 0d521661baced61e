/** Configuration of agents of kind `framework`: graphs on a LangGraph server, and tools of MCP servers. */
import * as z from 'zod';
import { jsonObject, jsonObjectOf } from '../json-object.ts';
import { duration, retry, scalar, type AgentKind } from './kind.ts';

export const frameworkConfiguration = z
  .looseObject({
    framework: z.enum(['langgraph', 'mcp']).optional(),
    /** Of a LangGraph server, or the endpoint of an MCP server. Default: the agent's `url`. */
    base_url: z.string().optional(),
    /** LangGraph: the id of an assistant, or the name of a graph. */
    assistant_id: z.string().optional(),
    /** MCP: the only tool to call. Default: the invocation's `skill`. */
    tool: z.string().optional(),
    api_key: z.string().optional(),
    headers: jsonObjectOf(scalar.nullable()).optional(),
    /** LangGraph: `config` of the run. Strings may contain `${ … }` over the input. */
    config: jsonObject.optional(),
    /** LangGraph: whether the thread of a call stays on the server. Default: false. */
    keep_threads: z.boolean().optional(),
    timeout: duration.optional(),
    retry: retry.optional(),
  })
  .superRefine(({ framework, assistant_id: assistant }, context) => {
    if (framework === 'langgraph' && !assistant)
      context.addIssue({
        code: 'custom',
        path: ['assistant_id'],
        message: 'is missing, which framework langgraph needs',
      });
  });

export type FrameworkConfiguration = z.infer<typeof frameworkConfiguration>;

export const frameworkKind: AgentKind = {
  configuration: frameworkConfiguration,
  orUrl: 'base_url',
  keys: ['framework'],
};
