/**
 * The definition language as JSON: Open Workflow Specification DSL 1.0.x (dsl-reference.md).
 * Types only. A definition that `validateDefinition` calls valid has these shapes.
 */
import type {
  Authentication,
  Duration,
  Endpoint,
  ErrorDefinition,
  ErrorInstance,
  Export,
  ExternalResource,
  Input,
  Output,
  RetryPolicy,
  Timeout,
} from './model-common.ts';

export type * from './model-common.ts';
export type * from './model-calls.ts';

export interface Definition {
  document: DefinitionDocument;
  input?: Input;
  use?: Use;
  do: TaskList;
  /** Inline, or the name of one of `use.timeouts`. */
  timeout?: Timeout | string;
  output?: Output;
  schedule?: Schedule;
  evaluate?: Evaluate;
}

export interface DefinitionDocument {
  dsl: string;
  namespace: string;
  name: string;
  version: string;
  title?: string;
  summary?: string;
  tags?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

export interface Use {
  authentications?: Record<string, Authentication>;
  catalogs?: Record<string, { endpoint: Endpoint }>;
  errors?: Record<string, ErrorDefinition>;
  extensions?: { [name: string]: Extension }[];
  functions?: Record<string, Task>;
  retries?: Record<string, RetryPolicy>;
  secrets?: string[];
  timeouts?: Record<string, Timeout>;
}

export interface Extension {
  extend: 'call' | 'composite' | 'emit' | 'for' | 'listen' | 'raise' | 'run' | 'set' | 'switch' | 'try' | 'wait' | 'all';
  when?: string;
  before?: TaskList;
  after?: TaskList;
}

export interface Schedule {
  every?: Duration;
  cron?: string;
  after?: Duration;
  on?: EventConsumptionStrategy;
  read?: 'data' | 'envelope' | 'raw';
}

export interface Evaluate {
  language?: string;
  /** `strict` (default): only `${ … }` is evaluated outside expression fields. */
  mode?: 'strict' | 'loose';
}

/** One entry, whose key is the task's name. */
export type TaskItem = { [name: string]: Task };
export type TaskList = TaskItem[];

/** `continue`, `exit`, `end`, or the name of a task of the same list. */
export type FlowDirective = string;

/** What every task may have. */
export interface TaskBase {
  /** Bare jq or one `${ … }`, on the raw input; false skips the task. */
  if?: string;
  input?: Input;
  output?: Output;
  export?: Export;
  /** Inline, or the name of one of `use.timeouts`. */
  timeout?: Timeout | string;
  then?: FlowDirective;
  metadata?: Record<string, unknown>;
}

export type Task =
  | CallTask
  | DoTask
  | EmitTask
  | ForTask
  | ForkTask
  | ListenTask
  | RaiseTask
  | RunTask
  | SetTask
  | SwitchTask
  | TryTask
  | WaitTask;

export type TaskKind = 'call' | 'do' | 'emit' | 'for' | 'fork' | 'listen' | 'raise' | 'run' | 'set' | 'switch' | 'try' | 'wait';

/** `with` by function: see HttpArguments, AgentArguments, HumanArguments, …; free for functions of `use.functions`. */
export interface CallTask extends TaskBase {
  call: string;
  with?: Record<string, unknown>;
}

export interface DoTask extends TaskBase {
  do: TaskList;
}

export interface EmitTask extends TaskBase {
  emit: { event: { with: EventProperties } & Record<string, unknown> };
}

export interface ForTask extends TaskBase {
  for: {
    /** Name of the item's variable, without `$`. Default `item`. */
    each?: string;
    /** An expression that gives an array, or the array itself. */
    in: string | unknown[];
    /** Name of the index's variable, without `$`. Default `index`. */
    at?: string;
  };
  /** Checked before each iteration. */
  while?: string;
  do: TaskList;
}

export interface ForkTask extends TaskBase {
  fork: { branches: TaskList; compete?: boolean };
}

export interface ListenTask extends TaskBase {
  listen: { to: EventConsumptionStrategy; read?: 'data' | 'envelope' | 'raw' };
  foreach?: SubscriptionIterator;
}

export interface RaiseTask extends TaskBase {
  /** The name of one of `use.errors`, or the error itself. */
  raise: { error: string | ErrorDefinition };
}

export interface RunTask extends TaskBase {
  run: RunConfiguration;
}

export interface RunConfiguration {
  workflow?: RunWorkflow;
  container?: Record<string, unknown>;
  script?: { language: string; code?: string; source?: ExternalResource } & Record<string, unknown>;
  shell?: { command: string } & Record<string, unknown>;
  /** Default true. */
  await?: boolean;
  /** Default `stdout`; of processes only. */
  return?: 'stdout' | 'stderr' | 'code' | 'all' | 'none';
}

export interface RunWorkflow {
  namespace: string;
  name: string;
  /** Semantic version or `latest`. */
  version: string;
  /** Strings in it may hold `${ … }`. */
  input?: unknown;
}

export interface SetTask extends TaskBase {
  set: Record<string, unknown> | string;
}

export interface SwitchTask extends TaskBase {
  switch: { [name: string]: SwitchCase }[];
}

export interface SwitchCase {
  /** Without it: the default case. At most one. */
  when?: string;
  then: FlowDirective;
}

export interface TryTask extends TaskBase {
  try: TaskList;
  catch: CatchClause;
}

export interface CatchClause {
  errors?: { with?: ErrorFilter };
  /** Name of the error's variable, without `$`. Default `error`. */
  as?: string;
  when?: string;
  exceptWhen?: string;
  /** Inline, or the name of one of `use.retries`. */
  retry?: string | RetryPolicy;
  do?: TaskList;
  then?: FlowDirective;
}

export interface ErrorFilter {
  type?: string;
  status?: number;
  instance?: ErrorInstance;
  title?: string;
  detail?: string;
}

export interface WaitTask extends TaskBase {
  wait: Duration;
}

/** CloudEvents attributes. */
export interface EventProperties {
  id?: string;
  source?: string;
  type?: string;
  time?: string;
  subject?: string;
  datacontenttype?: string;
  dataschema?: string;
  data?: unknown;
  [extension: string]: unknown;
}

export interface EventFilter {
  with: EventProperties;
  correlate?: Record<string, { from: string; expect?: string }>;
}

export interface EventConsumptionStrategy {
  all?: EventFilter[];
  any?: EventFilter[];
  one?: EventFilter;
  until?: string | EventConsumptionStrategy;
}

export interface SubscriptionIterator {
  item?: string;
  at?: string;
  do?: TaskList;
  output?: Output;
  export?: Export;
}
