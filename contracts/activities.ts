/**
 * Inputs and results of activities. Every activity of the main queue that takes a `batch` writes it to the
 * run's log in the transaction of its own change, before its side effect.
 */
import type { DslError } from './dsl-error.ts';
import type { Exceeded } from './budgets.ts';
import type { ProcessKind } from './process-policy.ts';
import type { ChildDonePayload, EventBatch, RunEnd } from './run-events.ts';
import type { ScheduledStart } from './schedules.ts';
import type { ListenerSpec, TakenEvents } from './listening.ts';
import type { Candidates, DecisionPayload, Delegate, HumanTaskRequest } from './hitl.ts';
import type { ModelTurn, ToolLoop, ToolRef, TurnStep } from './tool-loop.ts';

/** `closed` means that the run's row is already terminal, so workflow code must end. */
export interface Appended {
  closed: boolean;
  /** Set if the row shows another status than the batch's: its counter. */
  behind?: number;
}

export interface WithBatch {
  run_id: string;
  batch: EventBatch;
}

export interface InvocationRef {
  /** JSON pointer of the task. */
  task: string;
  name: string;
  visit: number;
  /** DSL retry attempt, from 1. */
  attempt: number;
  /** Set if the call is a local activity (docs/adr/0030). */
  short?: ShortCall;
}

export interface ShortCall {
  /** After this time the call goes on outside of the workflow task. Absent: it never does. */
  hand_over_ms?: number;
  workflow_task: {
    /** By the clock of Temporal's server, in milliseconds. */
    started_ms: number;
    /** Its history was replayed: an earlier worker has lost the call. */
    replayed: boolean;
  };
  /** The task's own deadline, and the milliseconds left until then. */
  deadline?: { at: string; left_ms: number };
}

export interface FollowCallInput extends WithBatch, InvocationRef {}

export interface InvokeAgentInput extends WithBatch, InvocationRef {
  agent: string;
  version?: string;
  skill?: string;
  input: unknown;
  timeout_ms: number;
  /** Set, from 1, when the invocation replies to the agent's question. Every round is a separate call. */
  round?: number;
  reply?: RemoteReply;
  /** Those who follow the run see the output as it grows. */
  stream?: true;
  /** The conversation that a language model continues. */
  session?: string;
  /** Set if a tool of a language model is called: it takes the place of `agent`. */
  tool?: ToolRef;
  /** Set for a turn of the loop that an earlier call of the agent has opened. */
  turn?: TurnStep;
  /** The run itself is the call of this agent of type `workflow`: only what comes before a call is done. */
  entry?: true;
  /** Set, with a `round`, when nobody waits for the outcome from outside any more: the agent is told. */
  withdraw?: Record<string, unknown>;
}

export interface CallHttpInput extends WithBatch, InvocationRef {
  function: 'http' | 'openapi' | 'a2a' | 'grpc' | 'mcp' | 'asyncapi';
  /**
   * `with` of the call, with URI templates filled, named authentications resolved, and all expressions
   * evaluated except those in `deferred`.
   */
  with: Record<string, unknown>;
  /**
   * Expressions that read `$secrets`, which only the activity may evaluate. `pointer` is their position in
   * `with`.
   */
  deferred: { pointer: string; expression: string }[];
  /**
   * `input.from` of the task if it reads `$secrets`: the activity evaluates it, on `input` of the scope, for
   * the deferred expressions, which then are all expressions.
   */
  input_from?: string | Record<string, unknown>;
  /** Expression variables of the task; null unless the activity evaluates expressions. */
  scope: Record<string, unknown> | null;
  /** Names in the definition's `use.secrets`. */
  secrets: string[];
  timeout_ms: number;
}

/** What a process returns to its task (dsl-reference.md "Run"). */
export type ProcessReturn = 'stdout' | 'stderr' | 'code' | 'all' | 'none';

/** `run: script`, `run: container` or `run: shell`; `with` is its configuration. */
export interface RunProcessInput extends Omit<CallHttpInput, 'function'> {
  process: ProcessKind;
  return: ProcessReturn;
  /** Of the items of `call: map` around it, for its entries in the log. */
  items?: number[];
}

/** The process of an agent of kind `docker`. `invokeAgent` has pinned the agent and checked the input. */
export interface RunContainerInput extends WithBatch, InvocationRef {
  agent: string;
  version?: string;
  input: unknown;
  timeout_ms: number;
  /** As for `invokeAgent`. */
  tool?: ToolRef;
  /** A call of its own, beside that of `invokeAgent`. */
  round: 0;
  items?: number[];
}

export interface Invoked {
  output: unknown;
  usage?: Record<string, unknown>;
  agent_id?: string;
  agent_version?: string;
  warnings?: string[];
  /** What a process wrote and the task does not return, if its log was not written meanwhile. */
  written?: Written[];
  /**
   * Set for agents of type `workflow`: no call was made; the caller starts this child run and uses its
   * output.
   */
  child?: {
    workflow_id: string;
    revision: number | null;
    input: unknown;
    output_schema: Record<string, unknown>;
    /** As in `CreateChildRunInput`. */
    rights_of?: string;
  };
  /** Set if the agent's task waits for an answer; there is no output yet. */
  ask?: RemoteAsk;
  /** Set if the agent is a model with tools or a session: its turns begin now; there is no output yet. */
  loop?: ToolLoop;
  /** Set for a turn of such a model. */
  turn?: ModelTurn;
  /** Set for agents of kind `docker`: no call was made; the caller lets `runContainer` run the process. */
  process?: true;
  /** Set if the outcome comes from outside, after this call; there is no output yet. */
  awaits?: AwaitedOutcome;
  /** How long a short call took, at least 1 ms. The history has it, so it is the same in a replay. */
  took_ms?: number;
}

/** A call whose outcome somebody else stores, once; the signal `call.done` tells the run. */
export interface AwaitedOutcome {
  /** Idempotency key of the invocation. */
  key: string;
  /** When it times out. */
  until: string;
  /** What the agent needs in order to be told that nobody waits any more. */
  withdraw?: Record<string, unknown>;
}

/** The end of a stream of a process. */
export interface Written {
  stream: 'stdout' | 'stderr';
  text: string;
  /** Whether there was more. */
  cut: boolean;
}

/** A question of a remote agent's task. A person answers it, then the agent is invoked again with `reply`. */
export interface RemoteAsk {
  title: string;
  description: string | null;
  subject: unknown;
  form_schema: Record<string, unknown> | null;
  decisions: NewHumanTask['decisions'];
  /** Default: the run's owner. */
  candidates?: Candidates;
  remote: RemoteTask;
}

export interface RemoteTask {
  task_id: string;
  context_id: string;
  /**
   * Form of the answer: text, data that matches the form, or a decision on the request of that id.
   * Credentials are sent by another way.
   */
  answer: { as: 'text' | 'data' | 'credential' } | { as: 'decision'; request_id: string | null };
  /** Identifies the question, to recognize it if the remote agent still shows it after the answer. */
  mark: string;
  /** The question is the platform's: whether to raise this budget. `then` is the answer for the agent. */
  budget?: {
    subject_id: string;
    exceeded: Exclude<Exceeded, 'unpriced'>;
    /** The human task that was decided: several calls may bring its decision, which counts once. */
    question?: string;
    /** Another run asks: the signal `call.done` of this key, or the time, ends the wait. */
    waits?: { key: string; until: string };
    then?: RemoteReply;
  };
}

/**
 * The answer to a remote question. A null `decision` means that nobody will answer and the remote task is to
 * be cancelled.
 */
export interface RemoteReply {
  remote: RemoteTask;
  decision: Pick<DecisionPayload, 'decision' | 'payload' | 'comment'> | null;
}

export interface NewHumanTask extends HumanTaskRequest {
  /** Default: `candidates`. */
  delegate?: Delegate;
  /** What the people may see of the run. The activity reads the steps from the run's log. */
  context?: RequestedContext[];
}

/**
 * A step by its pointer, and by the items of `call: map` around both it and the human task; or a value, which
 * is omitted if it is large.
 */
export type RequestedContext = { name: string } & (
  { task: string; items?: number[] } | { value: unknown } | { value_omitted: true }
);

interface OpenListenerInput extends WithBatch {
  id: string;
  /** JSON pointer of the task. */
  task: string;
  visit: number;
  spec: ListenerSpec;
  /** The listener of the retried run, and the last event that it worked on. */
  resumes?: { id: string; seq: number };
}

interface TakeEventsInput extends WithBatch {
  id: string;
  /** The number of the last event that the run has. */
  after: number;
}

interface CloseListenerInput extends WithBatch {
  id: string;
  /** The number of the last event on which the run has worked; those after it are given back. */
  seq: number;
}

interface TakeOutcomeInput extends WithBatch {
  /** Idempotency key of the invocation. */
  key: string;
  /** Ends the wait if there is no outcome yet. */
  end?: 'timeout' | 'cancelled';
}

/** Neither result nor error: there is none yet, or the wait was cancelled. */
export interface TakenOutcome extends Appended {
  result?: Invoked;
  error?: DslError;
  /** What a call has used that failed: `usage`, `agent_id`, `agent_version`. */
  spent?: Record<string, unknown>;
}

/**
 * Set if the same question is in the database already, under another id: Temporal was restored to a time
 * before it. The run goes on with that task, and with its decision if there is one.
 */
export interface AskedBefore {
  before?: { task_id: string; decision: DecisionPayload | null };
}

interface CreateHumanTaskInput extends WithBatch {
  human: NewHumanTask;
}

interface EscalateHumanTaskInput extends WithBatch {
  task_id: string;
  level: number;
  to: Candidates;
}

interface ExpireHumanTaskInput extends WithBatch {
  task_id: string;
  /** Key of the expiry event, which is appended only if the task really expires. */
  event_key: string;
  at: string;
}

export type Expired = Appended & ({ outcome: 'expired' } | { outcome: 'decided'; decision: DecisionPayload });

export interface CreateChildRunInput extends WithBatch {
  child_run_id: string;
  task: string;
  /** A registered workflow by id (for agents of type `workflow`), or by its DSL reference. */
  workflow:
    | { id: string; revision: number | null }
    | { namespace: string; name: string; version: string }
    /** A part of the parent's own workflow. */
    | { definition: unknown };
  input: unknown;
  /** The agent of type `workflow` whose invocation it is: its budget bears the run. */
  agent_id?: string;
  /** The corresponding child of the run that this one's parent retries. */
  retry_of?: string;
  /** The parent does not wait for the child, and the child continues whatever happens to the parent. */
  detached?: true;
  /** Whose rights find the workflow. Default: those of the parent. */
  rights_of?: string;
  /** The child is there already: only say whether it has ended. */
  adopted?: true;
}

/**
 * `before` names the child that the parent has created here before, by another id: Temporal was restored to a
 * time before it. The parent asks again with its id (`adopted`) and gets its end, if it has ended, as `done`.
 * `completed` means that the child to retry has already completed. It is used, and no new child was created.
 */
interface CreatedChild extends Appended {
  completed?: boolean;
  before?: string;
  done?: ChildDonePayload;
}

interface ChildOutput {
  output: unknown;
}

interface EndRunInput extends WithBatch {
  end: RunEnd;
  /** Interpreter state of a faulted run before unwinding. */
  checkpoint?: unknown;
}

/** The run's input files, fetched into the store; `position` is the index in the input's `files`. */
export interface FetchedFiles {
  files: { position: number; file: Record<string, unknown> }[];
}

/** The agent with the rights of its holder. */
export interface CheckContainerInput {
  agent_id: string;
  holder_id: string;
}

export interface CheckedContainer {
  status: 'ok' | 'failed';
  /** The kind of failure; null if there is none. */
  error: string | null;
  /** A sentence for people. */
  detail: string;
}

export interface RunActivities {
  appendEvents(input: WithBatch): Promise<Appended>;
  fetchFiles(input: WithBatch): Promise<FetchedFiles>;
  invokeAgent(input: InvokeAgentInput): Promise<Invoked>;
  /** Calls of every function that `CallHttpInput` names. Histories of live runs have this name. */
  callHttp(input: CallHttpInput): Promise<Invoked>;
  /** The outcome of a call that was handed over; on the task queue of the process that makes it. */
  followCall(input: FollowCallInput): Promise<Invoked>;
  runProcess(input: RunProcessInput): Promise<Invoked>;
  /** The outcome of a call that has come from outside. */
  takeOutcome(input: TakeOutcomeInput): Promise<TakenOutcome>;
  runContainer(input: RunContainerInput): Promise<Invoked>;
  /** Whether the container engine could run an agent of kind `docker`; runs nothing. */
  checkContainer(input: CheckContainerInput): Promise<CheckedContainer>;
  createHumanTask(input: CreateHumanTaskInput): Promise<Appended & AskedBefore>;
  escalateHumanTask(input: EscalateHumanTaskInput): Promise<Appended>;
  expireHumanTask(input: ExpireHumanTaskInput): Promise<Expired>;
  openListener(input: OpenListenerInput): Promise<Appended & TakenEvents & { after: number }>;
  takeEvents(input: TakeEventsInput): Promise<Appended & TakenEvents>;
  closeListener(input: CloseListenerInput): Promise<Appended>;
  cancelHumanTask(input: WithBatch & { task_id: string }): Promise<Appended>;
  createChildRun(input: CreateChildRunInput): Promise<CreatedChild>;
  readChildOutput(input: WithBatch & { child_run_id: string }): Promise<ChildOutput>;
  cancelChildRun(input: WithBatch & { child_run_id: string }): Promise<Appended>;
  endRun(input: EndRunInput): Promise<Appended>;
  /**
   * Cancels the run's own execution in Temporal, so that it is shown as cancelled. The run's row is already
   * closed.
   */
  cancelExecution(input: { run_id: string }): Promise<void>;
  reconcile(): Promise<{
    started: number;
    signalled: number;
    closed: number;
    stuck: string[];
    recovered: string[];
  }>;
  /** Starts the run of one time of a workflow's schedule. */
  startScheduledRun(input: { workflow_id: string; scheduled_at: string }): Promise<ScheduledStart>;
  /** Removes orphaned content from the file store. */
  sweepFiles(): Promise<{ removed: number }>;
  /** Removes expired runs and payloads, for a limited time per call. */
  removeExpired(): Promise<{ runs: number; payloads: number; more: boolean }>;
}

export interface DeliveryActivities {
  /** Sends due deliveries to one target, in order. `wait_ms` is null if nothing is pending. */
  deliverNext(targetId: string): Promise<{ sent: number; wait_ms: number | null }>;
}

/**
 * `type` of the non-retryable ApplicationFailures that activities throw. `details[0]` of a fault is its
 * DslError.
 */
export const FAILURE = {
  fault: 'Fault',
  closed: 'RunClosed',
  /** Another worker has stored another outcome of an earlier call; the workflow task has to be repeated. */
  conflict: 'OtherOutcome',
  /** A short call ended early, because the run is to be cancelled. */
  interrupted: 'Interrupted',
  /** The worker makes too many short calls at once. */
  busy: 'Busy',
  /** A short call takes longer and goes on; `followCall` on the task queue of the details waits for it. */
  handedOver: 'HandedOver',
  /** The process does not make a call that was handed over any more. */
  gone: 'CallGone',
} as const;
