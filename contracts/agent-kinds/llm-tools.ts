/** `tools` of language models, and the limits of their loop (docs/llm-agents.md). */
import * as z from 'zod';
import { isRecord } from '../is-record.ts';
import { issueText } from '../issue-texts.ts';
import { jsonObject, jsonObjectOf } from '../json-object.ts';
import { MAX_PARALLEL, MAX_TOOLS, MAX_TURNS, ON_EXCEED } from '../tool-loop.ts';
import { duration, retry, scalar } from './kind.ts';

const names = z.array(z.string());
const people = z.strictObject({
  users: names.optional(),
  roles: names.optional(),
  groups: names.optional(),
  teams: names.optional(),
});

/** What all tools have. */
const ofTool = {
  /** As the model sees it; of an MCP server: the beginning of the names of its tools. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, _ and -')
    .optional(),
  description: z.string().optional(),
  /** Whether a person has to approve a call: jq on the arguments, or one of these words. Default `never`. */
  approval: z.union([z.literal(['always', 'never']), z.string()]).optional(),
  /** Who may approve. Default: the run's owner. */
  approvers: people.optional(),
};

const agentTool = z.strictObject({ ...ofTool, agent: z.string().min(1), version: z.string().optional() });
const workflowTool = z.strictObject({
  ...ofTool,
  workflow: z.string().min(1),
  revision: z.int().positive().optional(),
});
const mcpTool = z.strictObject({
  ...ofTool,
  mcp: z.strictObject({
    url: z.string().min(1),
    /** Default: all of the server. */
    tools: z.array(z.string()).optional(),
    headers: jsonObjectOf(scalar.nullable()).optional(),
    retry: retry.optional(),
  }),
});
const humanTool = z.strictObject({
  ...ofTool,
  human: z.strictObject({
    candidates: people.optional(),
    assignee: z.string().optional(),
    /** 0 to 100. */
    priority: z.int().min(0).max(100).optional(),
    /** JSON Schema of the answer. Default: a text. */
    form: jsonObject.optional(),
    /** Then the model is told that nobody has answered. */
    expires: duration.optional(),
  }),
});

const TOOLS = { agent: agentTool, workflow: workflowTool, mcp: mcpTool, human: humanTool };

export type LlmTool =
  | z.infer<typeof agentTool>
  | z.infer<typeof workflowTool>
  | z.infer<typeof mcpTool>
  | z.infer<typeof humanTool>;

/** A union would say of a mistake only that there is one. */
const llmTool = z.custom<LlmTool>().check((context) => {
  const { value } = context;
  const kinds = Object.entries(TOOLS).filter(([kind]) => isRecord(value) && kind in value);
  const [kind] = kinds;
  const issues =
    kind === undefined || kinds.length > 1
      ? [{ path: [], message: `a tool must have one of the keys ${Object.keys(TOOLS).join(', ')}` }]
      : (kind[1].safeParse(value, { error: issueText }).error?.issues ?? []);
  for (const { path, message } of issues)
    context.issues.push({ code: 'custom', input: value, path: [...path], message });
});

/** The keys of a model's configuration that are about its tools. */
export const toolKeys = {
  /** What the model may call. */
  tools: z.array(llmTool).max(MAX_TOOLS).optional(),
  /** How often the model is called. Default 10. */
  max_turns: z.int().min(1).max(MAX_TURNS).optional(),
  /** Input and output of all turns. */
  max_total_tokens: z.int().positive().optional(),
  max_cost_usd: z.number().positive().optional(),
  /** At one of these limits: end with an error (`stop`, default), or ask a person whether to go on. */
  on_exceed: z.enum(ON_EXCEED).optional(),
  /** How many tools run at once. Default 8. */
  parallel_tools: z.int().min(1).max(MAX_PARALLEL).optional(),
  /** A context of A2A is a session: the model remembers it. Default false. */
  memory: z.boolean().optional(),
};
