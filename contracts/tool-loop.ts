/**
 * The loop of a language model that calls tools (docs/llm-agents.md). An activity opens the loop, and from
 * then on each call of the model and of a tool is a step of its own.
 */
import type { DslError } from './dsl-error.ts';
import type { Candidates } from './hitl.ts';

/** Kinds of agents that can have tools and sessions. */
export const MODEL_KINDS: ReadonlySet<string> = new Set(['llm', 'vision']);

/** The most tools of one loop, those of MCP servers included. */
export const MAX_TOOLS = 128;
export const MAX_TURNS = 1_000;
export const MAX_PARALLEL = 32;
/** Characters of a tool's answer that the model gets. */
export const MAX_ANSWER_LENGTH = 64 * 1024;

/** Characters of the id of a session. */
export const MAX_SESSION_ID = 200;

export const ON_EXCEED = ['stop', 'ask'] as const;

/** An open loop, as the workflow keeps it. Schemas and descriptions stay in the database. */
export interface ToolLoop {
  /** Id of the row that holds the messages. */
  conversation: string;
  tools: LoopTool[];
  max_turns: number;
  max_total_tokens: number | null;
  max_cost_usd: number | null;
  on_exceed: (typeof ON_EXCEED)[number];
  /** How many tools run at once. */
  parallel: number;
}

export interface LoopTool {
  /** As the model sees it. */
  name: string;
  target:
    | { kind: 'agent' | 'mcp' }
    /** `rights_of`: the user with whose rights it is started. */
    | { kind: 'workflow'; id: string; revision: number; rights_of: string }
    | { kind: 'human'; question: HumanTool };
  /** Its input is the argument `input`. */
  wrapped?: true;
  /** Who may approve a call. Default: the run's owner. */
  approvers?: Candidates;
}

/** Whom the model may ask. Without anybody named: the run's owner. */
export interface HumanTool {
  assignee: string | null;
  candidates: Candidates;
  priority: number;
  /** JSON Schema of the answer; null: a text. */
  form: Record<string, unknown> | null;
  expires_ms: number | null;
}

export interface ConversationRef {
  conversation: string;
  from?: ConversationOrigin;
}

/** The loop of a retried run whose turns another one continues. */
export interface ConversationOrigin {
  conversation: string;
  turns: number;
  /** The task that continues them, which holds the session as long as it goes on. */
  task?: string;
  visit?: number;
}

/** The next turn of an open loop. */
export interface TurnStep extends ConversationRef {
  turn: TurnRequest;
}

/** A tool of an open loop, by its index: an agent, or a tool of an MCP server. */
export interface ToolRef extends ConversationRef {
  index: number;
}

export interface TurnRequest {
  /** From 1. */
  number: number;
  /** Of the tools that the model called in the turn before. */
  answers?: ToolAnswer[];
  /** What is wrong with the output of the turn before. */
  repair?: string;
}

/** What the model is told of an answer that cannot be used. */
export function repairRequest(problem: string): string {
  return `Your answer does not fit: ${problem}. Answer again, with the correct form only.`;
}

/** What a tool answers to the model. Data: nothing in it is evaluated. */
export interface ToolAnswer {
  id: string;
  name: string;
  text: string;
  failed: boolean;
}

/** A tool call that the model asks for. */
export interface ToolRequest {
  id: string;
  /** As the model wrote it, at most 64 characters. */
  name: string;
  /** Index of the tool; null if there is none of that name. */
  tool: number | null;
  arguments: unknown;
  /** Why it is not executed; the model is told. */
  problem?: string;
  /** Set if a person has to approve the call first. */
  approval?: ApprovalRequest;
}

export interface ApprovalRequest {
  /** Schema of `{arguments?}`, for other arguments. */
  form: Record<string, unknown>;
  /** What the tool does, as the model knows it. */
  description: string;
  /** The last messages, oldest first. */
  conversation: { role: string; text: string }[];
}

/** What a turn of the model gave. Without requests and problem, the call's output is the agent's. */
export interface ModelTurn {
  text: string;
  requests: ToolRequest[];
  /** Why the output cannot be used. */
  problem?: string;
  /** The model's API was too busy: the same turn may be tried again after this time. */
  busy?: { after_ms: number; error: DslError };
}
