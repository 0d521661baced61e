/** Types of the parameters (`with`) of functions that a `call` task can name. */
import type { Delegate, Quorum } from '../../contracts/hitl.ts';
import type {
  Duration,
  Endpoint,
  Export,
  ExternalResource,
  Output,
  ReferenceableAuthentication,
} from './model-common.ts';

/** The arguments of each function that the platform brings. What has to know a new function follows. */
export interface CallArguments {
  http: HttpArguments;
  agent: AgentArguments;
  human: HumanArguments;
  map: MapArguments;
  openapi: OpenApiArguments;
  grpc: GrpcArguments;
  asyncapi: AsyncApiArguments;
  a2a: A2aArguments;
  mcp: McpArguments;
}

export type CallFunction = keyof CallArguments;

/**
 * `call: http`. Any string may contain `${ … }`. The endpoint may also contain `{name}` from the task's
 * input.
 */
export interface HttpArguments {
  method: string;
  endpoint: Endpoint;
  headers?: Record<string, string> | string;
  body?: unknown;
  query?: Record<string, unknown> | string;
  /** Default `content`. */
  output?: 'raw' | 'content' | 'response';
  /** If true, statuses 300–399 are not errors. Default false. */
  redirect?: boolean;
}

/** `call: agent` (docs/interface.md#call-agent). */
export interface AgentArguments {
  /** Id or name of a registered agent, or a `${ … }` that evaluates to one. */
  agent: string;
  /** Semantic version, range or `draft`. Default: the agent's highest published version. */
  version?: string;
  input?: unknown;
  skill?: string;
  timeout?: Duration;
  /** A boolean, or a `${ … }` that evaluates to one. */
  stream?: boolean | string;
  /** For language models: the conversation that the call continues. */
  session?: string;
}

/** Users by username or id, roles, groups, teams by name or id: lists, or `${ … }` that evaluate to lists. */
export interface Candidates {
  users?: string[] | string;
  roles?: string[] | string;
  groups?: string[] | string;
  teams?: string[] | string;
}

/** `call: human` (docs/interface.md#call-human). Texts may hold `${ … }`. */
export interface HumanArguments {
  title: string;
  description?: string;
  /** The data to decide on: any JSON. */
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
  /** Default `fault`, which raises the DSL's timeout error. */
  on_expiry?: 'fault' | { decision: string };
  remind?: Duration[];
  escalate?: { after: Duration; to: Candidates }[];
  quorum?: Partial<Omit<Quorum, 'exclude'>> & { exclude?: Pick<Candidates, 'users' | 'groups'> };
  /** Decisions that require a comment. */
  require_comment?: string[];
  /** To whom candidates may delegate. Default `candidates`. */
  delegate?: Delegate;
  /** A link may decide it without a log-in, if the operator allows it too. Default false. */
  decision_links?: boolean;
  /** What led here: names of tasks, whose outputs the people may see, or values by name. */
  context?: (string | Record<string, unknown>)[];
}

interface HumanDecision {
  id: string;
  label?: string;
}

/** `call: map` (docs/interface.md#call-map). */
export interface MapArguments {
  /** An array, or an expression that evaluates to one. */
  in: string | unknown[];
  /** The variable of the item. Default `item`. */
  as?: string;
  /** The variable of its index, from 0. Default `index`. */
  at?: string;
  /** A task list that runs for each item, with the task's input. */
  do: unknown[];
  /** How many items are under way at the same time. Default 10. */
  concurrency?: number | string;
  /** Default `fail`: the first item that faults cancels the others. */
  on_error?: 'fail' | 'collect';
}

/** `call: a2a`. One of `agentCard` and `server` is required; the card takes precedence. */
export interface A2aArguments {
  /** Method name of protocol 0.3, such as `message/send`. */
  method: string;
  agentCard?: ExternalResource;
  server?: Endpoint;
  /** An object whose strings may contain `${ … }`, or a `${ … }` that evaluates to one. */
  parameters?: Record<string, unknown> | string;
}

/** `call: openapi`. The request body is the parameter `body`, or the parameters that its schema names. */
export interface OpenApiArguments {
  document: ExternalResource;
  operationId: string;
  parameters?: Record<string, unknown>;
  authentication?: ReferenceableAuthentication;
  output?: 'raw' | 'content' | 'response';
  redirect?: boolean;
}

/** `call: grpc`. Without `proto`, the server itself is asked for its types (server reflection). */
export interface GrpcArguments {
  proto?: ExternalResource;
  service: {
    /** With its package. */
    name: string;
    host: string;
    /** Default 443. */
    port?: number;
    /** Ours. Default: true on port 443. */
    tls?: boolean;
    authentication?: ReferenceableAuthentication;
  };
  method: string;
  /** One message, a list of messages if the client streams, or a `${ … }` that evaluates to either. */
  arguments?: Record<string, unknown> | unknown[] | string;
  /** Ours: the headers of gRPC. */
  metadata?: Record<string, string>;
}

/** `call: mcp`. */
export interface McpArguments {
  /** Default 2025-06-18. */
  protocolVersion?: string;
  method: string;
  /** An object whose strings may contain `${ … }`, or a `${ … }` that evaluates to one. */
  parameters?: Record<string, unknown> | string;
  timeout?: Duration;
  transport: {
    http?: { endpoint: Endpoint; headers?: Record<string, string> };
    stdio?: { command: string; arguments?: string[]; environment?: Record<string, string> };
    options?: Record<string, string>;
  };
  client?: { name: string; version: string };
}

/** `call: asyncapi`. One of `channel` and `operation`, and one of `message` and `subscription`. */
export interface AsyncApiArguments {
  document: ExternalResource;
  channel?: string;
  operation?: string;
  server?: { name: string; variables?: Record<string, unknown> };
  protocol?: string;
  message?: { payload?: Record<string, unknown>; headers?: Record<string, unknown> };
  subscription?: {
    filter?: string;
    /** One of `amount`, `while` and `until`. */
    consume: { amount?: number; for?: Duration; while?: string; until?: string };
    foreach?: {
      item?: string;
      at?: string;
      /** A task list. */
      do?: unknown[];
      output?: Output;
      export?: Export;
    };
  };
  authentication?: ReferenceableAuthentication;
}
