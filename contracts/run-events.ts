/**
 * The run's event log: what workflow code, services and the reconciler write to it, and its states.
 * Types are the DSL's lifecycle events (dsl.md "Lifecycle Events"); our own follow the same form.
 */
import type { DslError } from './dsl-error.ts';

export const RUN_STATUSES = [
  'pending',
  'running',
  'waiting',
  'suspended',
  'cancelled',
  'faulted',
  'completed',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];
export const TERMINAL_STATUSES = ['cancelled', 'faulted', 'completed'] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export function isTerminal(status: string): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly string[]).includes(status);
}

export const EVENT = {
  runCreated: 'io.cadenza.workflow.created.v1',
  runStarted: 'io.serverlessworkflow.workflow.started.v1',
  runSuspended: 'io.serverlessworkflow.workflow.suspended.v1',
  runResumed: 'io.serverlessworkflow.workflow.resumed.v1',
  runCancelled: 'io.serverlessworkflow.workflow.cancelled.v1',
  runFaulted: 'io.serverlessworkflow.workflow.faulted.v1',
  runCompleted: 'io.serverlessworkflow.workflow.completed.v1',
  /** The run waits, and for a person: `hitl_task_ids`. Written with the change of the run's status. */
  runInputRequired: 'io.cadenza.workflow.input-required.v1',
  /** It waits for no person any more. */
  runInputReceived: 'io.cadenza.workflow.input-received.v1',
  runWarning: 'io.cadenza.workflow.warning.v1',
  cancelRequested: 'io.cadenza.workflow.cancel-requested.v1',
  taskStarted: 'io.serverlessworkflow.task.started.v1',
  taskRetried: 'io.serverlessworkflow.task.retried.v1',
  taskCancelled: 'io.serverlessworkflow.task.cancelled.v1',
  taskFaulted: 'io.serverlessworkflow.task.faulted.v1',
  taskCompleted: 'io.serverlessworkflow.task.completed.v1',
  taskSkipped: 'io.cadenza.task.skipped.v1',
  eventEmitted: 'io.cadenza.event.emitted.v1',
  agentPinned: 'io.cadenza.agent.pinned.v1',
  agentWarning: 'io.cadenza.agent.warning.v1',
  childCreated: 'io.cadenza.child.created.v1',
  childDone: 'io.cadenza.child.done.v1',
  hitlCreated: 'io.cadenza.hitl.task-created.v1',
  hitlReminder: 'io.cadenza.hitl.task-reminder.v1',
  hitlOverdue: 'io.cadenza.hitl.task-overdue.v1',
  hitlEscalated: 'io.cadenza.hitl.task-escalated.v1',
  hitlExpired: 'io.cadenza.hitl.task-expired.v1',
  hitlCancelled: 'io.cadenza.hitl.task-cancelled.v1',
  hitlClaimed: 'io.cadenza.hitl.task-claimed.v1',
  hitlReleased: 'io.cadenza.hitl.task-released.v1',
  hitlDelegated: 'io.cadenza.hitl.task-delegated.v1',
  hitlCommented: 'io.cadenza.hitl.task-commented.v1',
  hitlVoted: 'io.cadenza.hitl.vote-cast.v1',
  hitlDecided: 'io.cadenza.hitl.task-decided.v1',
  decisionReceived: 'io.cadenza.hitl.decision-received.v1',
  decisionApplied: 'io.cadenza.hitl.decision-applied.v1',
} as const;

export type EventLevel = 'debug' | 'info' | 'warn' | 'error';

/** One event before the database numbers it. `key` makes a repeated append harmless. */
export interface NewRunEvent {
  key: string;
  type: string;
  /** RFC 3339, workflow time where workflow code makes it. */
  at: string;
  level: EventLevel;
  /** JSON pointer of the task, null for the run itself. */
  task: string | null;
  message: string;
  data: Record<string, unknown>;
}

export interface WaitingOn {
  kind: 'human' | 'event' | 'timer';
  task: string;
  id?: string;
  until?: string;
}

/** What the run's row shows; taken only with a counter higher than the row's. */
export interface RunProjection {
  counter: number;
  status: Exclude<RunStatus, TerminalStatus>;
  waiting_on: WaitingOn[];
}

/** What workflow code hands to an activity that writes to the log. Sizes: ≤ 200 events or 128 KiB. */
export interface EventBatch {
  events: NewRunEvent[];
  projection: RunProjection | null;
  /** Ids of signals that the workflow has taken in; their repeating ends. */
  acks: string[];
}

/** How a run ends; `output` for completed, `error` for faulted, else neither. */
export interface RunEnd {
  status: TerminalStatus;
  output?: unknown;
  error?: DslError | null;
}
