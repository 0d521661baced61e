/**
 * Decisions of a failed run that are asked again, before a retry with changes goes on
 * (docs/runs.md#retry-with-changes). Part of the state that the retry starts with.
 */
import type { NewHumanTask } from './activities.ts';

/** One decision that the retry would take over. */
export interface AskedAgain {
  /** The human task that was decided. */
  of: string;
  /** JSON pointer of its task; for a decision in a child run of the task that started the child. */
  task: string;
  /** The human tasks that have asked again: of this run, and of those that it retries. */
  asked: string[];
  /** Absent once the same was decided. */
  question?: AgainQuestion;
}

export interface AgainQuestion {
  request: Omit<NewHumanTask, 'id' | 'run_id' | 'task' | 'due_at' | 'expires_at'>;
  /** From its creation on; null: never. */
  due_ms: number | null;
  expires_ms: number | null;
  /** What was decided. */
  decision: string;
  payload: unknown;
}
