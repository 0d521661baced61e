/** Names and shapes that the api, the worker and workflow code share on Temporal. */
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { DslError } from './dsl-error.ts';
import type { RunStatus, WaitingOn } from './run-events.ts';

export const TASK_QUEUE = 'cadenza';
export const RUN_WORKFLOW = 'run';
export const RECONCILE_WORKFLOW = 'reconcile';
export const DELIVER_WORKFLOW = 'deliver';
export const RECONCILE_SCHEDULE = 'cadenza-reconcile';
export const RETENTION_WORKFLOW = 'retention';
export const RETENTION_SCHEDULE = 'cadenza-retention';

export function runWorkflowId(runId: string): string {
  return `run-${runId}`;
}

/** One execution a target of deliveries, so that its messages keep their order. */
export function deliverWorkflowId(targetId: string): string {
  return `deliver-${targetId}`;
}

/** Keywords that people filter runs by in Temporal UI. They are not encrypted there: no secret in them. */
export const SEARCH_ATTRIBUTES = {
  owner: 'CadenzaOwner',
  workflow: 'CadenzaWorkflow',
  status: 'CadenzaStatus',
} as const;

/** What the workflow needs of the run's row; big values are checked in by the data converter. */
export interface RunStart {
  run_id: string;
  name: string;
  owner_id: string;
  workflow_id: string | null;
  /** The initiator: owner of the root run of the tree. */
  root_run_id: string;
  definition: unknown;
  input: unknown;
  created_at: string;
  /** Interpreter state of the faulted run that this one retries. */
  checkpoint: unknown;
  /** The input links files that are to be fetched before the first task. */
  fetch_files?: true;
}

export interface RunArgs {
  /** The server knows SEARCH_ATTRIBUTES, so the workflow may keep `status` up to date. */
  search_attributes?: boolean;
  start: RunStart;
  /** Where the run is served: the source of its events. */
  run_url?: string;
  /** Interpreter state carried over a continue-as-new. */
  state?: unknown;
}

/** Signals are rows of `run_signal` first: each is repeated with its id until the workflow acknowledges it. */
export type RunSignal =
  | ({ id: string; kind: 'hitl.decision' } & DecisionPayload)
  | { id: string; kind: 'cancel' | 'suspend' | 'resume'; by: string | null; at: string; reason?: string }
  | ({ id: string; kind: 'child.done' } & ChildDonePayload)
  | { id: string; kind: 'child.waiting'; child_run_id: string; waiting_on: WaitingOn[]; counter: number };

export interface DecisionPayload {
  task_id: string;
  decision_id: string;
  decision: string;
  payload: unknown;
  comment: string | null;
  decided_by: string | null;
  decided_at: string;
  votes?: unknown[];
}

export interface ChildDonePayload {
  child_run_id: string;
  status: Extract<RunStatus, 'completed' | 'faulted' | 'cancelled'>;
  error?: DslError | null;
}

export const wakeSignal = defineSignal('wake');
export const runSignal = defineSignal<[RunSignal]>('run.signal');
export const runStatusQuery = defineQuery<{ status: RunStatus; waiting_on: WaitingOn[]; task: string | null }>('run.status');
