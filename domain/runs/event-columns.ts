/**
 * The columns that an event sets in other tables than the log. TypeScript decides them; the SQL function
 * `append_run_events` stores them with the event.
 */
import { MAX_USD } from '../../contracts/budgets.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { utcTime } from '../../contracts/instant.ts';
import type { NoticeReason } from '../../contracts/notification-kinds.ts';
import { EVENT, type NewRunEvent, type RunTaskStatus } from '../../contracts/run-events.ts';
import { identityProblem } from '../events/identity.ts';
import { tokenCount } from '../spending/cost.ts';
import { storableJson } from '../storable.ts';

interface EventColumns {
  /** The new status of the event's task in `run_task`. */
  task_status?: RunTaskStatus;
  /** The event starts its task. */
  starts?: true;
  /** The event ends its task. */
  ends?: true;
  /** A call of an agent, for `usage_record`. */
  used?: UsedColumns;
  /** What the event reports of the decision `data.decision_id`. */
  decision?: 'received' | 'applied';
  /** The run begins at the event's time. */
  begins?: true;
  /** `data.event` is for listeners of the run's owner. */
  emits?: true;
  /** Why people are told of the human task `data.hitl_task_id`. */
  notice?: NoticeReason;
  /** The event's own time; null if PostgreSQL has no such time. */
  emitted_at?: string | null;
}

interface UsedColumns {
  model: string | null;
  input_tokens: number;
  output_tokens: number;
  /** Null: unknown. */
  cost_usd: number | null;
}

const COLUMNS: Partial<Record<string, EventColumns>> = {
  [EVENT.runStarted]: { begins: true },
  [EVENT.taskStarted]: { task_status: 'running', starts: true },
  [EVENT.taskCompleted]: { task_status: 'completed', ends: true },
  [EVENT.taskFaulted]: { task_status: 'faulted', ends: true },
  [EVENT.taskCancelled]: { task_status: 'cancelled', ends: true },
  [EVENT.hitlCreated]: { task_status: 'waiting', notice: 'created' },
  [EVENT.hitlReminder]: { notice: 'reminder' },
  [EVENT.hitlEscalated]: { notice: 'escalated' },
  [EVENT.hitlDelegated]: { notice: 'delegated' },
  [EVENT.hitlCommented]: { notice: 'commented' },
  [EVENT.childCreated]: { task_status: 'running' },
  [EVENT.agentPinned]: { task_status: 'running' },
  [EVENT.eventEmitted]: { emits: true },
  [EVENT.decisionReceived]: { decision: 'received' },
  [EVENT.decisionApplied]: { decision: 'applied' },
};

/** Events as JSON for `append_run_events`, with their columns. */
export function eventRows(events: readonly NewRunEvent[]): string {
  return storableJson(events.map((event) => ({ ...event, ...columnsOf(event) })));
}

export function columnsOf({ type, task, data }: NewRunEvent): EventColumns & { visit?: unknown } {
  const { task_status: status, emits, notice, ...columns } = COLUMNS[type] ?? {};
  const { visit, usage, mentions, usage_is_sum: isSum } = data;
  const isCall = isSet(usage) || isSet(data['agent_id']);
  return {
    ...columns,
    ...(status && task !== null && isSet(visit) ? { task_status: status, visit } : {}),
    // The steps that a sum has are counted themselves.
    ...(columns.ends && isCall && isSum !== true ? usedColumns(usage) : {}),
    ...(emits ? emitted(data['event']) : {}),
    // A comment tells those whom it mentions.
    ...(notice && (notice !== 'commented' || isSet(mentions)) ? { notice } : {}),
  };
}

function usedColumns(usage: unknown): { used: UsedColumns } {
  const { model, cost_usd: cost, ...counts } = isRecord(usage) ? usage : {};
  return {
    used: {
      model: typeof model === 'string' ? cutTo(model, 255) : null,
      input_tokens: tokenCount(counts['input_tokens']),
      output_tokens: tokenCount(counts['output_tokens']),
      cost_usd: cost === null ? null : typeof cost === 'number' && cost > 0 ? Math.min(cost, MAX_USD) : 0,
    },
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
