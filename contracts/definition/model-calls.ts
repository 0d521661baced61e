/** The parameters (`with`) of the functions that a `call` task can name. Types only. */
import type { Duration, Endpoint, ExternalResource, ReferenceableAuthentication } from './model-common.ts';

/** `call: http`. Any string may hold `${ … }`; the endpoint may also have `{name}` of the task's input. */
export interface HttpArguments {
  method: string;
  endpoint: Endpoint;
  headers?: Record<string, string> | string;
  body?: unknown;
  query?: Record<string, unknown> | string;
  /** Default `content`. */
  output?: 'raw' | 'content' | 'response';
  /** True: 300–399 are no errors. Default false. */
  redirect?: boolean;
}

/** `call: agent` (interface-decisions §5). */
export interface AgentArguments {
  /** Id or name of a registered agent, or a `${ … }` that gives one. */
  agent: string;
  /** Semantic version or range. Default: the agent's current version. */
  version?: string;
  input?: unknown;
  skill?: string;
  timeout?: Duration;
  /** A boolean, or a `${ … }` that gives one. */
  stream?: boolean | string;
}

/** People by user name or id, role, group; lists or `${ … }` that give one. */
export interface Candidates {
  users?: string[] | string;
  roles?: string[] | string;
  groups?: string[] | string;
}

/** `call: human` (interface-decisions §5). Texts may hold `${ … }`. */
export interface HumanArguments {
  title: string;
  description?: string;
  /** What is decided on: any JSON. */
  subject?: unknown;
  /** JSON Schema 2020-12 of the decision's payload. */
  form?: Record<string, unknown> | boolean;
  /** Default `[approve, reject]`. */
  decisions?: (string | HumanDecision)[];
  assignee?: string;
  candidates?: Candidates;
  /** 0–100, default 50; or a `${ … }`. */
  priority?: number | string;
  due?: Duration;
  expires?: Duration;
  /** Default `fault`: the DSL's timeout error. */
  on_expiry?: 'fault' | { decision: string };
  remind?: Duration[];
  escalate?: { after: Duration; to: Candidates }[];
  quorum?: { approvals?: number; rejections?: number; exclude_initiator?: boolean };
  /** The decisions that need a comment. */
  require_comment?: string[];
}

export interface HumanDecision {
  id: string;
  label?: string;
}

/** `call: a2a`. One of `agentCard` and `server` is there; the card wins. */
export interface A2aArguments {
  /** As protocol 0.3 names it, such as `message/send`. */
  method: string;
  agentCard?: ExternalResource;
  server?: Endpoint;
  /** An object whose strings may hold `${ … }`, or a `${ … }` that gives one. */
  parameters?: Record<string, unknown> | string;
}

/** `call: openapi`. The body of an operation is the parameter `body`, or the parameters that its schema names. */
export interface OpenApiArguments {
  document: ExternalResource;
  operationId: string;
  parameters?: Record<string, unknown>;
  authentication?: ReferenceableAuthentication;
  output?: 'raw' | 'content' | 'response';
  redirect?: boolean;
}
