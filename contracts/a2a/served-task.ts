/** What the protocol shows of a task: the fields of its row, and its messages. */
import type { DslError } from '../dsl-error.ts';
import type { RunStatus } from '../run-events.ts';
import type { A2AMessage, A2ATaskState } from './objects.ts';

export interface ServedTask {
  id: string;
  context_id: string;
  state: A2ATaskState;
  state_at: Date;
  paused: boolean;
  accepted_output_modes: string[];
  metadata: Record<string, unknown> | null;
  status: RunStatus;
  output: unknown;
  error: DslError | null;
  /** In a list: the names of the omitted fields. */
  omitted?: string[];
}

/** `seq`: the event of the run that the message belongs to. */
export interface StoredMessage {
  task_id: string;
  seq: number;
  message: A2AMessage;
}
