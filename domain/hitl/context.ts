/**
 * `context` of a human task: what the definition's author lets the people see who are asked, also if they may
 * not see the run. It is copied when the task is created, so that it shows what they decided on.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { NewHumanTask, RequestedContext } from '../../contracts/activities.ts';
import type { ContextEntry } from '../../contracts/hitl.ts';
import { EVENT, type RunTaskStatus } from '../../contracts/run-events.ts';
import { MAX_RETRIES } from '../runs/limits.ts';
import { storable } from '../storable.ts';

/** All values of a task, in bytes of JSON. Each is at most as large as an output in the log. */
const MAX_VALUES_BYTES = 64 * 1024;

/**
 * Fills in the context of a task that has been created in this transaction. Call it after the batch's events
 * are in the log. A task that has its context keeps it.
 */
export async function keepContext(em: EntityManager, task: NewHumanTask): Promise<void> {
  const { id, run_id: runId } = task;
  const requested = storable(task.context ?? []);
  if (requested.length === 0) return;
  const wanted = requested.flatMap((entry) => ('task' in entry ? [entry] : []));
  const steps = await readSteps(em, runId, wanted);
  const context = withinBytes(requested.map((entry) => entryOf(entry, steps)));
  await em.execute(`update hitl_task set context = ?::json where id = ? and context is null`, [
    JSON.stringify(context),
    id,
  ]);
}

function entryOf(requested: RequestedContext, steps: ReadonlyMap<string, StepRow>): ContextEntry {
  const { name } = requested;
  if (!('task' in requested)) {
    const omitted = 'value_omitted' in requested;
    const value = omitted ? null : (requested.value ?? null);
    return { name, task: null, status: null, value, value_omitted: omitted };
  }
  const { task } = requested;
  const step = steps.get(task);
  if (!step) return { name, task, status: 'pending', value: null, value_omitted: false };
  if (step.skipped) return { name, task, status: 'skipped', value: null, value_omitted: false };
  return { name, task, status: step.status, value: step.output, value_omitted: step.omitted };
}

/** Omits the values that no longer fit. */
function withinBytes(entries: ContextEntry[]): ContextEntry[] {
  let left = MAX_VALUES_BYTES;
  return entries.map((entry) => {
    const bytes = Buffer.byteLength(JSON.stringify(entry.value));
    if (bytes > left) return { ...entry, value: null, value_omitted: true };
    left -= bytes;
    return entry;
  });
}

interface StepRow {
  reference: string;
  /** Its last visit was skipped. */
  skipped: boolean;
  status: RunTaskStatus;
  /** Null unless it completed. */
  output: unknown;
  omitted: boolean;
}

/**
 * The last visit of each step, as the run's log shows it. A retry takes over steps of the runs before it;
 * visits below 1 have only asked again what people had decided in the step. A skipped visit is only in the
 * log; it has the number that follows the last visit. Items of `call: map` run side by side, so their visits
 * are told apart by the items.
 */
async function readSteps(
  em: EntityManager,
  runId: string,
  wanted: readonly { task: string; items?: number[] }[],
): Promise<Map<string, StepRow>> {
  if (wanted.length === 0) return new Map();
  const rows = await em.execute<StepRow[]>(
    `with recursive chain as (
       select id, retry_of, 0 as depth from run where id = ?
       union all
       select r.id, r.retry_of, c.depth + 1 from chain c join run r on r.id = c.retry_of where c.depth < ?)
     select wanted.reference, last.skipped, last.status, done.data -> 'output' as output,
            coalesce((done.data ->> 'output_omitted')::boolean, false) as omitted
       from (select task as reference, items from json_to_recordset(?::json) as w (task text, items int[])
            ) wanted
       cross join lateral (
            select c.id as run_id, t.visit, t.status, s.skipped
              from chain c
              left join lateral (select visit, status from run_task
                                  where run_id = c.id and reference = wanted.reference and visit > 0
                                    and (wanted.items is null or items = wanted.items)
                                  order by visit desc limit 1) t on true
              cross join lateral (select (wanted.items is null and log_data(
                       c.id, wanted.reference || '#' || (coalesce(t.visit, 0) + 1) || ':skipped') is not null
                   ) or (wanted.items is not null and t.visit is null and exists (
                     select from run_event e
                      where e.run_id = c.id and e.task = wanted.reference and e.type = ?
                        and (e.data -> 'items')::jsonb = to_jsonb(wanted.items))) as skipped) s
             where t.visit is not null or s.skipped
             order by c.depth limit 1) last
       cross join lateral (select case when not last.skipped then log_data(
              last.run_id, wanted.reference || '#' || last.visit || ':completed') end as data) done`,
    [runId, MAX_RETRIES, JSON.stringify(wanted), EVENT.taskSkipped],
  );
  return new Map(rows.map((row) => [row.reference, row]));
}
