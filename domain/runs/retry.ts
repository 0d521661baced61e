/** A new run that continues where a faulted one stopped, or elsewhere, by the same or another revision. */
import { v7 as uuidv7 } from 'uuid';
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, forbidden } from '../errors.ts';
import { createRun } from './create.ts';
import { MAX_RETRIES, type RunLimits } from './limits.ts';
import { getRun } from './queries.ts';
import { continueWith, Places, type Checkpoint, type Place } from './retry-place.ts';
import { decisionsToAsk } from './retry-decisions.ts';
import { readRetrySource, type RetrySource } from './retry-source.ts';
import { mayChangeRetry, maySteer } from './rights.ts';
import { getRunnable, requireRunnable } from './runnable.ts';

export interface RetryOptions {
  /** Of the run's workflow. Default: that of the run. */
  revision?: number | undefined;
  /** For the task that the run continues with. Default: what it had. */
  input?: unknown;
  /** JSON pointer of a task in that revision. Default: where the run failed. */
  from?: string | undefined;
}

/**
 * Without options: same revision and input. The agents are pinned again. @throws 409 if the run left no state
 * to continue from, if the revision lacks the place, or if more was decided than can be asked again
 */
export async function retryRun(
  em: EntityManager,
  actor: Actor,
  id: string,
  limits: RunLimits,
  options: RetryOptions = {},
): Promise<string> {
  const run = await getRun(em, actor, id);
  if (!maySteer(actor, run)) throw forbidden('Retrying this run requires the role builder.', 'role_required');
  if (run.status !== 'faulted')
    throw conflict('run_not_faulted', `Only a faulted run can be retried; this one is ${run.status}.`, {
      run_status: run.status,
    });
  const before = await readRetrySource(em, id);
  if (!before?.hasCheckpoint)
    throw conflict('no_checkpoint', 'The run left no state to continue from: start a new run.');
  const changed = Object.values(options).some((value) => value !== undefined);
  const { id: newId } = await createRun(em, {
    ...before.source,
    ...(changed ? await moved(em, actor, id, before.source, options) : {}),
    id: uuidv7(),
    owner_id: actor.id,
    retry_of: id,
    limits,
  });
  return newId;
}

async function moved(
  em: EntityManager,
  actor: Actor,
  runId: string,
  source: RetrySource,
  { revision, input, from }: RetryOptions,
): Promise<Partial<RetrySource> & { start_state: Checkpoint }> {
  requireChange(actor, source);
  const target = revision === undefined ? null : await revisionOf(em, actor, source, revision);
  const checkpoint = await readCheckpoint(em, runId);
  const places = new Places(checkpoint, source.definition, target?.definition ?? source.definition);
  const place = from === undefined ? null : places.find(from);
  const again = await decisionsToAsk(em, runId, checkpoint, { revision, input, from }, { places, place });
  const given = input === undefined ? undefined : { value: input };
  if (place) {
    const isKnown = given !== undefined || place.frame !== undefined;
    continueWith(place, given, isKnown ? null : await inputOf(em, runId, places, place));
  } else if (given) continueWith(places.only, given, null);
  return { ...target, start_state: { ...checkpoint, asked_again: again } };
}

/** @throws 403 */
function requireChange(actor: Actor, { rights_of }: RetrySource): void {
  if (mayChangeRetry(actor, rights_of)) return;
  throw forbidden(
    'Only the owner of the workflow and admins may retry its runs with another revision, input or task.',
  );
}

/** @throws 404 without such a revision, 422 if it cannot run */
async function revisionOf(
  em: EntityManager,
  actor: Actor,
  source: RetrySource,
  revision: number,
): Promise<Partial<RetrySource>> {
  if (source.workflow_id === null)
    throw conflict('no_workflow', 'The run has no workflow, so it has no other revision.');
  const workflow = await getRunnable(em, actor, source.workflow_id, revision);
  requireRunnable(workflow);
  return {
    workflow_revision: workflow.revision,
    definition: workflow.definition,
    agents: workflow.agents,
  };
}

async function readCheckpoint(em: EntityManager, runId: string): Promise<Checkpoint> {
  const [row] = await em.execute<{ state: Checkpoint }[]>(
    `select state from run_checkpoint where run_id = ?`,
    [runId],
  );
  if (!row) throw conflict('no_checkpoint', 'The run left no state to continue from: start a new run.');
  return row.state;
}

/**
 * The input that the task had when it started last; other visits only asked again what was decided.
 * @throws 409 if it never did, or if the log omits it
 */
async function inputOf(
  em: EntityManager,
  runId: string,
  places: Places,
  place: Omit<Place, 'frame'>,
): Promise<unknown> {
  const reference = places.before(place);
  if (reference === null) throw conflict('no_input', 'The run does not know the task: give its "input".');
  if (place.list.isOfItem)
    throw conflict('no_input', `Other items of the map have run ${reference} too: give its "input".`);
  const [row] = await em.execute<{ data: Record<string, unknown> }[]>(
    `with recursive chain as (
       select id, retry_of, 0 as depth from run where id = ?
       union all
       select r.id, r.retry_of, c.depth + 1 from chain c join run r on r.id = c.retry_of where c.depth < ?)
     select e.data from chain c
       join lateral (select visit from run_task where run_id = c.id and reference = ?
                       and visit > 0 order by visit desc limit 1) t on true
       cross join lateral (select log_data(c.id, ? || '#' || t.visit || ':started') as data) e
      where e.data is not null
      order by c.depth limit 1`,
    [runId, MAX_RETRIES, reference, reference],
  );
  if (!isRecord(row?.data))
    throw conflict('no_input', `The run has not come to ${reference}: give its "input".`);
  if (!('input' in row.data))
    throw conflict(
      'no_input',
      `The log omits the input of ${reference}, which is large: give it as "input".`,
    );
  return row.data['input'];
}
