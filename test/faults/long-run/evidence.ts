/** What the load leaves behind: rows of the database, answers of the API, and the notes of both ends. */
import type { EffectCall, Receipt } from './counterpart.ts';
import type { Ledger } from './load.ts';
import type { ExitNote } from './platform.ts';

export interface RunRow {
  id: string;
  workflow: string;
  /** Its label; null: a child, or a run of a schedule. */
  op: string | null;
  status: string;
  error: { type?: string } | null;
  /** In milliseconds. */
  created_at: number;
  finished_at: number | null;
  output: any;
  parent_run_id: string | null;
  detached: boolean;
  /** In milliseconds. */
  scheduled_at: number | null;
  started_by: readonly string[] | null;
  last_seq: number;
  /** What the API says of it; null: it does not list the run. */
  listed_status: string | null;
}

export interface EventRow {
  run_id: string;
  seq: number;
  type: string;
}

export interface TaskRow {
  id: string;
  run_id: string;
  status: string;
  decision: string | null;
  comment: string | null;
  applied: boolean;
}

export interface InvocationRow {
  run_id: string;
  key: string;
  /** In milliseconds; null: no outcome is recorded. */
  finished_at: number | null;
  /** Of the recorded result. */
  nonce: number | null;
}

export interface ScheduleEvidence {
  name: string;
  everyMs: number;
  /** Each time has a run, whatever the others do; otherwise it may be skipped. */
  overlaps: boolean;
  /** Between these every time is due. */
  from: number;
  to: number;
  runs: readonly number[];
  /** Of a time: what became of it, and when that was decided. */
  notes: readonly { at: number; outcome: string; detail: string | null; decided_at: number }[];
}

/** Of a fault, from when it was made until it was over. */
export interface Disturbance {
  from: number;
  to: number;
  text: string;
}

export interface Evidence {
  ledger: Ledger;
  runs: readonly RunRow[];
  /** By run, then seq. */
  events: readonly EventRow[];
  /** Ids of the events that the webhook is for, in the order of the log. */
  hooked: readonly string[];
  tasks: readonly TaskRow[];
  invocations: readonly InvocationRow[];
  /** Answers that the log has, as outputs of completed tasks; large outputs are not in it. */
  logged: readonly number[];
  children: readonly { run_id: string; child_run_id: string; status: string }[];
  schedules: readonly ScheduleEvidence[];
  /** Each what is open although its run is over. */
  leftOver: readonly string[];
  calls: readonly EffectCall[];
  receipts: readonly Receipt[];
  /** Ids that a client got, who followed the same events as a stream. */
  streamed: readonly string[];
  connections: number;
  audit: { problems: readonly string[]; counts: Readonly<Record<string, number>> };
  budget: { used: number; reserved: number; costUsd: number; usage: number; usageCostUsd: number };
  stats: Readonly<Record<'started' | 'completed' | 'faulted' | 'cancelled', number>>;
  exits: readonly (ExitNote & { expected: boolean })[];
  disturbances: readonly Disturbance[];
}
