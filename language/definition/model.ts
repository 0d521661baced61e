/**
 * Types of the definition language as JSON: Open Workflow Specification DSL 1.0.x (dsl-reference.md). A
 * definition that `validateDefinition` finds valid has these shapes.
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

interface Use {
  authentications?: Record<string, Authentication>;
  catalogs?: Record<string, { endpoint: Endpoint }>;
  errors?: Record<string, ErrorDefinition>;
  extensions?: { [name: string]: Extension }[];
  functions?: Record<string, Task>;
  retries?: Record<string, RetryPolicy>;
  secrets?: string[];
  timeouts?: Record<string, Timeout>;
}

interface Extension {
  extend: ExtensionTarget;
  when?: string;
  before?: TaskList;
  after?: TaskList;
}

interface Schedule {
  every?: Duration;
  cron?: string;
  after?: Duration;
  on?: EventConsumptionStrategy;
  read?: 'data' | 'envelope' | 'raw';
}

interface Evaluate {
  language?: string;
  /** `strict` (default): only `${ … }` is evaluated outside expression fields. */
  mode?: 'strict' | 'loose';
}

/** One entry, whose key is the task's name. */
export type TaskItem = { [name: string]: Task };
type TaskList = TaskItem[];

/** `continue`, `exit`, `end`, or the name of a task of the same list. */
export type FlowDirective = string;

/** Properties that every task may have. */
export interface TaskBase {
  /** Bare jq or one `${ … }` over the raw input; false skips the task. */
  if?: string;
  input?: Input;
  output?: Output;
  export?: Export;
  /** Inline, or the name of one of `use.timeouts`. */
  timeout?: Timeout | string;
  then?: FlowDirective;
  metadata?: Record<string, unknown>;
}

/** The shape of each kind of task, by the key that tells its kind. What has to know a new kind follows. */
export interface TaskOfKind {
  call: CallTask;
  do: DoTask;
  emit: EmitTask;
  for: ForTask;
  fork: ForkTask;
  listen: ListenTask;
  raise: RaiseTask;
  run: RunTask;
  set: SetTask;
  switch: SwitchTask;
  try: TryTask;
  wait: WaitTask;
}

export type TaskKind = keyof TaskOfKind;
export type Task = TaskOfKind[TaskKind];

/** The tasks that an extension is for. A `composite` has others in it. */
export type ExtensionTarget = Exclude<TaskKind, 'do' | 'fork'> | 'composite' | 'all';

/**
 * `with` depends on the function: see HttpArguments, AgentArguments, HumanArguments, …; arbitrary for
 * functions of `use.functions`.
 */
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
    /** An expression that evaluates to an array, or the array itself. */
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
  container?: RunContainer;
  script?: RunScript;
  shell?: RunShell;
  /** Default true. */
  await?: boolean;
  /** Default `stdout`; only for processes. */
  return?: 'stdout' | 'stderr' | 'code' | 'all' | 'none';
}

/** What every process may have. Texts may contain `${ … }`. */
interface Process {
  stdin?: string;
  arguments?: string[];
  environment?: Record<string, unknown>;
}

interface RunContainer extends Process {
  image: string;
  name?: string;
  command?: string;
  /** Port of the engine's host → port of the container. */
  ports?: Record<string, unknown>;
  /** Volume or folder of the engine's host → folder in the container. */
  volumes?: Record<string, unknown>;
  lifetime?: { cleanup: 'always' | 'never' | 'eventually'; after?: Duration };
  pullPolicy?: 'ifNotPresent' | 'always' | 'never';
}

export interface RunScript extends Process {
  language: 'js' | 'javascript' | 'python';
  /** Passed on as written. */
  code?: string;
  source?: ExternalResource;
}

interface RunShell extends Process {
  command: string;
}

interface RunWorkflow {
  namespace: string;
  name: string;
  /** Semantic version or `latest`. */
  version: string;
  /** Its strings may contain `${ … }`. */
  input?: unknown;
}

export interface SetTask extends TaskBase {
  set: Record<string, unknown> | string;
}

export interface SwitchTask extends TaskBase {
  switch: { [name: string]: SwitchCase }[];
}

interface SwitchCase {
  /** Omitted for the default case, of which there may be one. */
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
interface EventProperties {
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

interface SubscriptionIterator {
  item?: string;
  at?: string;
  do?: TaskList;
  output?: Output;
  export?: Export;
}
