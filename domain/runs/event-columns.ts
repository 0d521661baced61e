/**
 * The columns that an event sets in other tables than the log. TypeScript decides them; the SQL function
 * `append_run_events` stores them with the event.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { utcTime } from '../../contracts/instant.ts';
import { EVENT, type NewRunEvent, type RunTaskStatus } from '../../contracts/run-events.ts';
import { identityProblem } from '../events/identity.ts';
import { storable } from '../storable.ts';

interface EventColumns {
  /** The new status of the event's task in `run_task`. */
  task_status?: RunTaskStatus;
  /** The event starts its task. */
  starts?: true;
  /** The event ends its task. */
  ends?: true;
  /** `data.usage` is written to `usage_record`. */
  counts_usage?: true;
  /** What the event reports of the decision `data.decision_id`. */
  decision?: 'received' | 'applied';
  /** The run begins at the event's time. */
  begins?: true;
  /** `data.event` is for listeners of the run's owner. */
  emits?: true;
  /** The event's own time; null if PostgreSQL has no such time. */
  emitted_at?: string | null;
}

const COLUMNS: Partial<Record<string, EventColumns>> = {
  [EVENT.runStarted]: { begins: true },
  [EVENT.taskStarted]: { task_status: 'running', starts: true },
  [EVENT.taskCompleted]: { task_status: 'completed', ends: true, counts_usage: true },
  [EVENT.taskFaulted]: { task_status: 'faulted', ends: true },
  [EVENT.taskCancelled]: { task_status: 'cancelled', ends: true },
  [EVENT.hitlCreated]: { task_status: 'waiting' },
  [EVENT.childCreated]: { task_status: 'running' },
  [EVENT.agentPinned]: { task_status: 'running' },
  [EVENT.eventEmitted]: { emits: true },
  [EVENT.decisionReceived]: { decision: 'received' },
  [EVENT.decisionApplied]: { decision: 'applied' },
};

/** Events as JSON for `append_run_events`, with their columns. */
export function eventRows(events: readonly NewRunEvent[]): string {
  return JSON.stringify(storable(events.map((event) => ({ ...event, ...columnsOf(event) }))));
}

export function columnsOf({ type, task, data }: NewRunEvent): EventColumns & { visit?: unknown } {
  const { task_status: status, counts_usage: counts, emits, ...columns } = COLUMNS[type] ?? {};
  const { visit, usage, usage_is_sum: isSum } = data;
  return {
    ...columns,
    ...(status && task !== null && isSet(visit) ? { task_status: status, visit } : {}),
    // The steps that it sums up are counted themselves.
    ...(counts && isSet(usage) && isSum !== true ? { counts_usage: counts } : {}),
    ...(emits ? emitted(data['event']) : {}),
  };
}

/** Events that are too long for listeners are in the log only. */
function emitted(event: unknown): Pick<EventColumns, 'emits' | 'emitted_at'> {
  if (!isRecord(event)) return {};
  const { id, source, type, time } = event;
  if (identityProblem({ id: String(id), source: String(source), type: String(type) }) !== null) return {};
  return { emits: true, emitted_at: typeof time === 'string' ? utcTime(time) : null };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
