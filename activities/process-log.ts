/** The run's log for what a process writes while it runs: each entry once, however often the call repeats. */
import type { RunProcessInput } from '../contracts/activities.ts';
import { isRecord } from '../contracts/is-record.ts';
import { LOG_TEXT } from '../contracts/log-texts.ts';
import { EVENT, isTerminal, type NewRunEvent } from '../contracts/run-events.ts';
import type { FileReference, LoggedBytes, LoggedText, ProcessLog } from '../domain/ports.ts';
import { endTreeOverLimits } from '../domain/runs/end-tree.ts';
import { appendEvents, lockRun } from '../domain/runs/events.ts';
import { moveLogged, progressOf } from '../domain/runs/invocations.ts';
import { appendAnd } from './append.ts';
import type { ProcessDeps } from './deps.ts';
import type { Calling } from './invocation.ts';

const NONE: LoggedBytes = { stdout: 0, stderr: 0, cut: false };

/** Of an activity that runs a process: what its entries in the log name. */
export type LoggedProcess = Pick<RunProcessInput, 'run_id' | 'task' | 'name' | 'visit' | 'attempt' | 'items'>;

export function processLog(deps: ProcessDeps, input: LoggedProcess, calling: Calling): ProcessLog {
  const { idempotencyKey: key, progress } = calling;
  return {
    logged: loggedOf(progress.kept),
    async append(texts, from, to) {
      const place = `${to.stdout}:${to.stderr}${to.cut ? ':cut' : ''}`;
      const events = texts.map((text, index) => eventOf(input, text, `${place}:${index}`));
      const { now, tree } = await deps.orm.em.fork().transactional(async (em) => {
        // The run's row first, as everywhere.
        const run = await lockRun(em, input.run_id);
        if (!run || isTerminal(run.status)) return { now: to, tree: null };
        if (!(await moveLogged(em, input.run_id, key, from, to)))
          return { now: loggedOf(await progressOf(em, input.run_id, key)), tree: null };
        const added = await appendEvents(em, input.run_id, { events, projection: null, acks: [] });
        return { now: to, tree: added.tree };
      });
      await endTreeOverLimits(deps, tree);
      return now;
    },
  };
}

/** Logs the files that a process left; again has no effect. */
export async function logFiles(
  deps: ProcessDeps,
  { run_id: runId, task, name, visit, attempt, items }: LoggedProcess,
  files: readonly FileReference[],
): Promise<void> {
  if (files.length === 0) return;
  const event: NewRunEvent = {
    key: `${task}#${visit}:files:${attempt}`,
    type: EVENT.processFiles,
    at: new Date().toISOString(),
    level: 'info',
    task,
    message: LOG_TEXT.processFiles(
      name,
      files.map((file) => file.name ?? ''),
    ),
    data: { task, visit, ...(items && { items }), files },
  };
  await appendAnd(deps, { run_id: runId, batch: { events: [event], projection: null, acks: [] } });
}

function loggedOf(kept: unknown): LoggedBytes {
  const logged = isRecord(kept) ? kept['logged'] : null;
  if (!isRecord(logged)) return NONE;
  return { stdout: Number(logged['stdout']), stderr: Number(logged['stderr']), cut: logged['cut'] === true };
}

function eventOf(
  { task, name, visit, attempt, items }: LoggedProcess,
  { stream, text }: LoggedText,
  place: string,
): NewRunEvent {
  return {
    key: `${task}#${visit}:output:${attempt}:${place}`,
    type: EVENT.processOutput,
    at: new Date().toISOString(),
    level: stream === 'stderr' ? 'warn' : 'info',
    task,
    message: LOG_TEXT.processOutput(name, stream, text.trimEnd()),
    data: { task, visit, ...(items && { items }), stream, text },
  };
}
