/**
 * What workflow code asks of activities. Every activity of the main queue that takes a `batch` writes
 * it to the run's log, in the transaction of its own change, before its side effect.
 */
import type { DslError } from './dsl-error.ts';
import type { EventBatch, RunEnd } from './run-events.ts';
import type { DecisionPayload } from './temporal.ts';

/** `closed`: the run's row is terminal already; workflow code must end. */
export interface Appended {
  closed: boolean;
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
}

export interface InvokeAgentInput extends WithBatch, InvocationRef {
  agent: string;
  version?: string;
  skill?: string;
  input: unknown;
  timeout_ms: number;
  /** From 1: an answer to what the agent asked in the round before. Each round is a call of its own. */
  round?: number;
  reply?: RemoteReply;
}

export interface CallHttpInput extends WithBatch, InvocationRef {
  function: 'http' | 'openapi' | 'a2a';
  /** `with` of the call: expressions evaluated, all but those in `deferred`; URI templates filled, named authentications put in place. */
  with: Record<string, unknown>;
  /** Expressions that read `$secrets`: only the activity may evaluate them. `pointer` is where in `with`. */
  deferred: { pointer: string; expression: string }[];
  /** The expression variables of the task, where something is deferred. */
  scope: Record<string, unknown> | null;
  /** Names in the definition's `use.secrets`. */
  secrets: string[];
  timeout_ms: number;
}

export interface Invoked {
  output: unknown;
  usage?: Record<string, unknown>;
  agent_id?: string;
  agent_version?: string;
  warnings?: string[];
  /** The agent is a `workflow`: nothing was called; start this child run and take its output. */
  child?: { workflow_id: string; revision: number | null; input: unknown; output_schema: Record<string, unknown> };
  /** The agent's task waits for an answer; there is no output yet. */
  ask?: RemoteAsk;
}

/** A counterpart's task that asks for something: a person here answers, then the agent is invoked again with `reply`. */
export interface RemoteAsk {
  title: string;
  description: string | null;
  subject: unknown;
  form_schema: Record<string, unknown> | null;
  decisions: NewHumanTask['decisions'];
  remote: RemoteTask;
}

export interface RemoteTask {
  task_id: string;
  context_id: string;
  /** How it wants its answer: as a text, as data that fits the form, or as a decision on its request of that id. A credential reaches it in another way. */
  answer: { as: 'text' | 'data' | 'credential' } | { as: 'decision'; request_id: string | null };
  /** Marks the question, so that it is known again where the counterpart still shows it after the answer. */
  mark: string;
}

/** `decision` null: nobody will answer, the counterpart's task is to be cancelled. */
export interface RemoteReply {
  remote: RemoteTask;
  decision: Pick<DecisionPayload, 'decision' | 'payload' | 'comment'> | null;
}

export interface NewHumanTask {
  id: string;
  run_id: string;
  /** JSON pointer. */
  task: string;
  task_name: string;
  title: string;
  description: string | null;
  subject: unknown;
  form_schema: Record<string, unknown> | null;
  decisions: { id: string; label: string; requires_comment: boolean }[];
  assignee: string | null;
  candidates: { users: string[]; roles: string[]; groups: string[] };
  priority: number;
  due_at: string | null;
  expires_at: string | null;
  quorum: { approvals: number; rejections: number; exclude_initiator: boolean } | null;
}

export interface CreateHumanTaskInput extends WithBatch {
  human: NewHumanTask;
}

export interface EscalateHumanTaskInput extends WithBatch {
  task_id: string;
  level: number;
  to: { users: string[]; roles: string[]; groups: string[] };
}

export interface ExpireHumanTaskInput extends WithBatch {
  task_id: string;
  /** The workflow's event of the expiry, appended only where the task really expires. */
  event_key: string;
  at: string;
}

export type Expired = Appended & ({ outcome: 'expired' } | { outcome: 'decided'; decision: DecisionPayload });

export interface CreateChildRunInput extends WithBatch {
  child_run_id: string;
  task: string;
  /** A registered workflow by id (agent kind `workflow`), or the DSL's reference. */
  workflow: { id: string; revision: number | null } | { namespace: string; name: string; version: string };
  input: unknown;
}

export interface ChildOutput {
  output: unknown;
}

export interface EndRunInput extends WithBatch {
  end: RunEnd;
  /** Interpreter state before unwinding, of a faulted run. */
  checkpoint?: unknown;
}

/** Files that the run's input linked, as they are in the store now; `position` in the input's `files`. */
export interface FetchedFiles {
  files: { position: number; file: Record<string, unknown> }[];
}

export interface RunActivities {
  appendEvents(input: WithBatch): Promise<Appended>;
  fetchFiles(input: WithBatch): Promise<FetchedFiles>;
  invokeAgent(input: InvokeAgentInput): Promise<Invoked>;
  callHttp(input: CallHttpInput): Promise<Invoked>;
  createHumanTask(input: CreateHumanTaskInput): Promise<Appended>;
  escalateHumanTask(input: EscalateHumanTaskInput): Promise<Appended>;
  expireHumanTask(input: ExpireHumanTaskInput): Promise<Expired>;
  cancelHumanTask(input: WithBatch & { task_id: string }): Promise<Appended>;
  createChildRun(input: CreateChildRunInput): Promise<Appended>;
  readChildOutput(input: WithBatch & { child_run_id: string }): Promise<ChildOutput>;
  cancelChildRun(input: WithBatch & { child_run_id: string }): Promise<Appended>;
  endRun(input: EndRunInput): Promise<Appended>;
  reconcile(): Promise<{ started: number; signalled: number; closed: number }>;
  /** Removes what the file store holds and nobody knows. */
  sweepFiles(): Promise<{ removed: number }>;
  /** Removes runs and payloads that were kept long enough, for a bounded time. */
  removeExpired(): Promise<{ runs: number; payloads: number; more: boolean }>;
}

export interface DeliveryActivities {
  /** Sends what is due to one target, in order. `wait_ms` null: nothing is pending. */
  deliverNext(targetId: string): Promise<{ sent: number; wait_ms: number | null }>;
}

/** `type` of the non-retryable ApplicationFailures that our activities throw; `details[0]` of a fault is its DslError. */
export const FAILURE = { fault: 'Fault', closed: 'RunClosed' } as const;
export type FaultDetails = [DslError];
