/** Temporal names and types shared by the api, the worker and workflow code. */
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { CheckContainerInput } from './activities.ts';
import type { TakenEvents } from './listening.ts';
import type { DecisionPayload } from './hitl.ts';
import type { ChildDonePayload, RunStatus, WaitingOn } from './run-events.ts';

export const TASK_QUEUE = 'cadenza';
export const RUN_WORKFLOW = 'run';
export const RECONCILE_WORKFLOW = 'reconcile';
export const DELIVER_WORKFLOW = 'deliver';
export const RECONCILE_SCHEDULE = 'cadenza-reconcile';
export const RETENTION_WORKFLOW = 'retention';
export const CHECK_CONTAINER_WORKFLOW = 'checkContainer';
export const RETENTION_SCHEDULE = 'cadenza-retention';

export function runWorkflowId(runId: string): string {
  return `run-${runId}`;
}

/** One execution per delivery target, so that its messages stay in order. */
export function deliverWorkflowId(targetId: string): string {
  return `deliver-${targetId}`;
}

/** The schedule of a workflow has this id. Ids of workflows are unique, also between installations. */
export function scheduleOfWorkflow(workflowId: string): string {
  return `schedule-${workflowId}`;
}

/** Each time of a schedule is an execution of this type; Temporal appends the time to its id. */
export const SCHEDULED_START_WORKFLOW = 'scheduledStart';

export function scheduledStartId(workflowId: string): string {
  return `scheduled-${workflowId}`;
}

/** The workflow and the time in the id of a `scheduledStart`; null for other ids. */
export function readScheduledStartId(id: string): { workflow_id: string; scheduled_at: string } | null {
  const [, workflow_id, scheduled_at] = /^scheduled-([0-9a-f-]{36})-(\d{4}-.+Z)$/.exec(id) ?? [];
  return workflow_id === undefined || scheduled_at === undefined ? null : { workflow_id, scheduled_at };
}

/**
 * Whether payloads are encrypted for this workflow alone. Those of the platform's own schedules are not: a
 * schedule passes the last execution's result and failure to the next one, which has another id.
 */
export function isBoundWorkflow(workflowId: string): boolean {
  return workflowId.startsWith('run-') || workflowId.startsWith('deliver-');
}

/**
 * Encoding of the marker that replaces an unreadable payload. The SDK's converter reads it as bytes, which no
 * payload of ours is.
 */
export const REFUSED_ENCODING = 'binary/plain';

/** Content of the marker, as JSON. */
export interface RefusedPayload {
  reason: string;
  /** Whether the payload becomes readable once a missing key is restored. */
  passing: boolean;
}

/**
 * Search attributes for filtering runs in Temporal's UI. They are not encrypted, so they must not contain
 * secrets.
 */
export const SEARCH_ATTRIBUTES = {
  owner: 'CadenzaOwner',
  workflow: 'CadenzaWorkflow',
  status: 'CadenzaStatus',
} as const;

/** The run's data that the workflow needs. The data converter stores large values separately. */
export interface RunStart {
  run_id: string;
  name: string;
  owner_id: string;
  workflow_id: string | null;
  /** Root of the run's tree. */
  root_run_id: string;
  definition: unknown;
  input: unknown;
  created_at: string;
  /** Interpreter state of the faulted run that this one retries. */
  checkpoint: unknown;
  /** Calls of agents that do not say otherwise show their output while it grows. */
  streams?: true;
  /** The quota of its owner or team, if it has one of its own; else that of `RunArgs`. */
  max_events?: number;
  /** Set if the input links files to fetch before the first task. */
  fetch_files?: true;
  /** The run is a call of this agent, which has limits or budgets to pass. */
  enters?: { agent: string; name: string };
  /** The pinned agents whose calls may be short ones: of kind `api`, and not `idempotent: false`. */
  short_agents?: { agent: string; version?: string }[];
}

/**
 * Which calls of a run are local activities (docs/adr/0030). `version` is the version of the rules, which a
 * run keeps: code that changes a rule has to know both.
 */
export type ShortCallRules =
  | {
      version: 1;
      /** The longest timeout of a short call. */
      timeout_ms: number;
    }
  | {
      /** 3: no rule depends on the workflow's clock. */
      version: 2 | 3;
      /** A call that takes longer is handed over to an ordinary activity. */
      hand_over_ms: number;
    };

export interface RunArgs {
  /** Whether the server has SEARCH_ATTRIBUTES, so that the workflow may keep `status` up to date. */
  search_attributes?: boolean;
  start: RunStart;
  /** URL of the run, which is the source of its events. */
  run_url?: string;
  /** Maximum number of events in the run's log. */
  max_events?: number;
  /** Absent for runs without short calls, such as those of earlier code. */
  short_calls?: ShortCallRules;
  /**
   * Expressions take more steps for longer texts and larger objects. Absent for runs of earlier code, which
   * counted no sizes: their replay has to count as they did.
   */
  counts_sizes?: true;
  /** The task queue of processes that need a container engine; absent: the run's own. */
  process_queue?: string;
  /** Interpreter state carried over a continue-as-new. */
  state?: unknown;
}

/** Every signal is stored in `run_signal` and repeated with its id until the workflow acknowledges it. */
export type RunSignal = SignalAddress &
  (
    | ({ kind: 'hitl.decision' } & DecisionPayload)
    | { kind: 'cancel' | 'suspend' | 'resume'; by: string | null; at: string; reason?: string }
    | ({ kind: 'child.done' } & ChildDonePayload)
    /** Events that a `listen` task has taken. */
    | { kind: 'events'; listener_id: string; taken: TakenEvents }
    /** The outcome of a call has come from outside; `key` is the invocation's. */
    | { kind: 'call.done'; key: string }
    /** Continue as new: with `key`, so that the history is encrypted with that key. */
    | { kind: 'renew'; key?: string }
    | { kind: 'child.waiting'; child_run_id: string; waiting_on: WaitingOn[]; counter: number }
  );

/** A check of an agent of kind `docker`: by a worker with the container engine, within this time. */
export interface CheckContainerArgs extends CheckContainerInput {
  timeout_ms: number;
  /** As in `RunArgs`. */
  process_queue?: string;
}

/** Identifies the signal's row and its run. A run ignores signals for other runs. */
export interface SignalAddress {
  id: string;
  run_id: string;
}

export const wakeSignal = defineSignal('wake');
/** Tells a delivery workflow to continue as new, so that its history is encrypted with the current key. */
export const renewSignal = defineSignal('renew');
export const runSignal = defineSignal<[RunSignal]>('run.signal');
export const runStatusQuery = defineQuery<{
  status: RunStatus;
  waiting_on: WaitingOn[];
  task: string | null;
}>('run.status');
