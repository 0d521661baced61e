/**
 * Outcomes of calls that have ended in this process and are not stored yet. The statement that begins the
 * run's next call stores them, or the one that ends the run, so a step needs one commit only. Otherwise they
 * are stored a moment later: by then Temporal has recorded them, and they only save a repetition.
 */
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Logger } from '../config/logger.ts';
import { keepOutcomes, type CallOutcome } from '../domain/runs/invocations.ts';

const STORE_AFTER_MS = 500;

export interface Outcomes {
  add(runId: string, outcome: CallOutcome): void;
  /** Those of the run, for a statement that stores them; call `stored` once it has. */
  of(runId: string): readonly CallOutcome[];
  stored(runId: string, outcomes: readonly CallOutcome[]): void;
}

export function createOutcomes(deps: { orm: MikroORM; logger: Logger }): Outcomes {
  const waiting = new Map<string, Map<CallOutcome, NodeJS.Timeout>>();
  const remove = (runId: string, outcome: CallOutcome): void => {
    const ofRun = waiting.get(runId);
    clearTimeout(ofRun?.get(outcome));
    ofRun?.delete(outcome);
    if (ofRun?.size === 0) waiting.delete(runId);
  };
  const store = async (runId: string, outcome: CallOutcome): Promise<void> => {
    try {
      const kept = [{ ...outcome, required: false }];
      await keepOutcomes(deps.orm.em.fork(), runId, kept, { durable: false });
    } catch (error) {
      deps.logger.warn({ err: error, run_id: runId }, 'cannot keep the outcome of a call');
    } finally {
      remove(runId, outcome);
    }
  };
  return {
    add(runId, outcome) {
      const ofRun = waiting.get(runId) ?? new Map<CallOutcome, NodeJS.Timeout>();
      const timer = setTimeout(() => void store(runId, outcome), STORE_AFTER_MS).unref();
      waiting.set(runId, ofRun.set(outcome, timer));
    },
    of: (runId) => [...(waiting.get(runId)?.keys() ?? [])],
    stored(runId, outcomes) {
      for (const outcome of outcomes) remove(runId, outcome);
    },
  };
}
