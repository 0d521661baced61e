/**
 * The run's event log, written by workflow code, services and the reconciler, and the run's states. Types are
 * the DSL's lifecycle events (dsl.md "Lifecycle Events"); our own types have the same form.
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
/** Not ended. */
export const LIVE_STATUSES = ['pending', 'running', 'waiting', 'suspended'] as const satisfies RunStatus[];
/** Started, and not ended. */
export const UNDER_WAY_STATUSES = ['running', 'waiting', 'suspended'] as const satisfies RunStatus[];
/** Under way, and not suspended. */
export const ADVANCING_STATUSES = ['running', 'waiting'] as const satisfies RunStatus[];

/** Statuses of a run's tasks, in `run_task`. */
export const RUN_TASK_STATUSES = [
  'running',
  'waiting',
  'suspended',
  'cancelled',
  'faulted',
  'completed',
] as const;
export type RunTaskStatus = (typeof RUN_TASK_STATUSES)[number];
/** Statuses of a task that ended without an output. */
export const BROKEN_TASK_STATUSES = ['cancelled', 'faulted'] as const satisfies RunTaskStatus[];
/** Statuses in which a task can wait for a child run. */
export const WAITING_TASK_STATUSES = ['running', 'waiting'] as const satisfies RunTaskStatus[];
/** Statuses of a task that has started and not ended. */
export const UNFINISHED_TASK_STATUSES = [
  'running',
  'waiting',
  'suspended',
] as const satisfies RunTaskStatus[];

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
  /** The run waits for a person; `hitl_task_ids` names the tasks. Written when the run's status changes. */
  runInputRequired: 'io.cadenza.workflow.input-required.v1',
  /** The run no longer waits for a person. */
  runInputReceived: 'io.cadenza.workflow.input-received.v1',
  /** A task begins to listen for events, and has what it listened for. */
  correlationStarted: 'io.serverlessworkflow.workflow.correlation-started.v1',
  correlationCompleted: 'io.serverlessworkflow.workflow.correlation-completed.v1',
  runWarning: 'io.cadenza.workflow.warning.v1',
  cancelRequested: 'io.cadenza.workflow.cancel-requested.v1',
  /**
   * Created, suspended and resumed are not log entries. They are published together with the entries that
   * imply them.
   */
  taskCreated: 'io.serverlessworkflow.task.created.v1',
  taskSuspended: 'io.serverlessworkflow.task.suspended.v1',
  taskResumed: 'io.serverlessworkflow.task.resumed.v1',
  taskStarted: 'io.serverlessworkflow.task.started.v1',
  taskRetried: 'io.serverlessworkflow.task.retried.v1',
  taskCancelled: 'io.serverlessworkflow.task.cancelled.v1',
  taskFaulted: 'io.serverlessworkflow.task.faulted.v1',
  taskCompleted: 'io.serverlessworkflow.task.completed.v1',
  taskSkipped: 'io.cadenza.task.skipped.v1',
  eventReceived: 'io.cadenza.event.received.v1',
  eventEmitted: 'io.cadenza.event.emitted.v1',
  agentPinned: 'io.cadenza.agent.pinned.v1',
  agentWarning: 'io.cadenza.agent.warning.v1',
  agentWaits: 'io.cadenza.agent.waits.v1',
  agentCircuitOpened: 'io.cadenza.agent.circuit-opened.v1',
  agentCircuitClosed: 'io.cadenza.agent.circuit-closed.v1',
  processOutput: 'io.cadenza.process.output.v1',
  processWaits: 'io.cadenza.process.waits.v1',
  processFiles: 'io.cadenza.process.files.v1',
  /** A call waits for an outcome from outside. */
  jobCreated: 'io.cadenza.job.created.v1',
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

/** Name of a run in the data of lifecycle events (dsl-reference.md "Lifecycle Events"). */
export function qualifiedName(document: { name: string; namespace: string }, runId: string): string {
  return `${document.name}-${runId}.${document.namespace}`;
}

export type EventLevel = 'debug' | 'info' | 'warn' | 'error';

/** An event before the database numbers it. Appending the same `key` again has no effect. */
export interface NewRunEvent {
  key: string;
  type: string;
  /** RFC 3339; workflow time if workflow code creates the event. */
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
  /** Types of the events that it listens for; `*`: any. */
  events?: string[];
}

/** State shown in the run's row. Applied only if its counter is higher than the row's. */
export interface RunProjection {
  counter: number;
  status: Exclude<RunStatus, TerminalStatus>;
  /** The first 100 entries. */
  waiting_on: WaitingOn[];
  /** Number of all entries. */
  waiting_count: number;
}

/** Input of activities that write to the log. At most 200 events or 128 KiB. */
export interface EventBatch {
  events: NewRunEvent[];
  projection: RunProjection | null;
  /** Ids of signals that the workflow has received, so that they are no longer repeated. */
  acks: string[];
}

/** How a run ends. `output` is set if completed, `error` if faulted. */
export interface RunEnd {
  status: TerminalStatus;
  output?: unknown;
  error?: DslError | null;
}

export interface ChildDonePayload {
  child_run_id: string;
  status: Extract<RunStatus, 'completed' | 'faulted' | 'cancelled'>;
  error?: DslError | null;
  /** What the child and the runs below it have used: sums by name. */
  usage?: Record<string, number>;
}
