import { v7 as uuidv7 } from 'uuid';
import type { CreateChildRunInput, RunActivities } from '../contracts/activities.ts';
import { FAILURE } from '../contracts/activities.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { ApplicationFailure } from '@temporalio/common';
import { AppError } from '../domain/errors.ts';
import { fileIdsIn, shareFiles } from '../domain/files/run-files.ts';
import { createChildRun } from '../domain/runs/children.ts';
import { deliverSignals, startRun } from '../domain/runs/dispatch.ts';
import { enqueueSignal } from '../domain/runs/signals.ts';
import { appendAnd, appendOrStop } from './append.ts';
import type { ActivityDeps } from './deps.ts';

type ChildRunActivities = Pick<RunActivities, 'createChildRun' | 'readChildOutput' | 'cancelChildRun'>;

/** Child runs are ordinary runs, started by client: the reconciler starts what a crash left. */
export function childRunActivities(deps: ActivityDeps): ChildRunActivities {
  return {
    async createChildRun(input) {
      const appended = await insertChild(deps, input);
      if (!appended.closed) await startRun(deps, input.child_run_id);
      return appended;
    },
    async readChildOutput(input) {
      await appendOrStop(deps, input);
      const em = deps.orm.em.fork();
      const [row] = await em.execute<{ output: unknown }[]>(`select output from run where id = ?`, [input.child_run_id]);
      const output = row?.output ?? null;
      await shareFiles(em, input.child_run_id, input.run_id, fileIdsIn(output));
      return { output };
    },
    async cancelChildRun(input) {
      let id: string | null = null;
      const appended = await appendAnd(deps, input, async (em) => {
        id = await enqueueSignal(em, input.child_run_id, { kind: 'cancel', by: null, at: new Date().toISOString(), reason: 'cancelled by the parent run' }, { id: uuidv7() });
      });
      if (id !== null) await deliverSignals(deps, [id]);
      return appended;
    },
  };
}

async function insertChild(deps: ActivityDeps, input: CreateChildRunInput): Promise<{ closed: boolean }> {
  try {
    return await appendAnd(deps, input, (em) => createChildRun(em, input));
  } catch (error) {
    const refused = error instanceof Fault ? error : error instanceof AppError ? fault('configuration', error.detail) : null;
    if (!refused) throw error;
    // The change was rolled back with its batch: write that on its own, then report.
    await appendOrStop(deps, { ...input, batch: { ...input.batch, events: input.batch.events.filter((event) => event.data['child_run_id'] !== input.child_run_id) } });
    throw ApplicationFailure.create({ type: FAILURE.fault, message: refused.message, nonRetryable: true, details: [refused.error] });
  }
}
