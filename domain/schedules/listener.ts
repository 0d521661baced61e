/** The listener of a workflow's `schedule.on`. `em` is in the transaction that saves the workflow. */
import { v7 as uuidv7 } from 'uuid';

import type { ListenerSpec } from '../../contracts/listening.ts';
import type { ScheduleTimes } from '../../contracts/schedules.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { listenerSpec } from '../../language/definition/listening.ts';
import type { EventConsumptionStrategy } from '../../language/definition/model.ts';
import { ExpressionError, template } from '../../language/expressions/index.ts';
import { invalid } from '../errors.ts';
import { insertKeys, NOTHING_YET, type ListenerRow } from '../events/listener-rows.ts';
import { requestBudget } from '../../language/expression-budget.ts';

/**
 * Replaces the listener, and forgets the starts that lack events; those that have all and wait go on waiting.
 * Without events there is none.
 */
export async function listenFor(
  em: EntityManager,
  workflowId: string,
  times: ScheduleTimes | null,
): Promise<void> {
  const spec = times?.kind === 'on' ? specOf(times.on) : null;
  if (spec === null) {
    await em.execute('delete from listener where workflow_id = ?', [workflowId]);
    return;
  }
  const id = uuidv7();
  await em.execute(
    `insert into listener (id, owner_id, workflow_id, spec, state, since)
     select ?, owner_id, id, ?::json, ?::jsonb, clock_timestamp() from workflow where id = ?`,
    [id, JSON.stringify(spec), JSON.stringify(NOTHING_YET), workflowId],
  );
  await em.execute(`update listener set part_of = ? where workflow_id = ? and status = 'done'`, [
    id,
    workflowId,
  ]);
  await em.execute(`delete from listener where workflow_id = ? and status <> 'done' and id <> ?`, [
    workflowId,
    id,
  ]);
  await indexListener(em, workflowId, { id, spec, state: NOTHING_YET });
}

/** Call after the senders of a workflow have changed. */
export async function reindexSchedule(em: EntityManager, workflowId: string): Promise<void> {
  const rows = await em.execute<Pick<ListenerRow, 'id' | 'spec' | 'state'>[]>(
    `select id, spec, state from listener where workflow_id = ? and status = 'open' order by id for update`,
    [workflowId],
  );
  for (const row of rows) {
    await em.execute('delete from listener_key where listener_id = ?', [row.id]);
    await indexListener(em, workflowId, row);
  }
}

async function indexListener(
  em: EntityManager,
  workflowId: string,
  row: Pick<ListenerRow, 'id' | 'spec' | 'state'>,
): Promise<void> {
  const [workflow] = await em.execute<{ senders: string[] }[]>(
    `select to_json(array_remove(event_senders || owner_id || team_id, null)) as senders
       from workflow where id = ?`,
    [workflowId],
  );
  await insertKeys(em, row, [...new Set(workflow?.senders ?? [])]);
}

/** Null if it can take no event, because a correlation expects nothing. @throws 422 if that takes too long */
function specOf(on: Record<string, unknown>): ListenerSpec | null {
  const budget = requestBudget();
  try {
    // The definition was checked when it was saved.
    return listenerSpec(on as unknown as EventConsumptionStrategy, {
      resolve: (text) => template(text, { mode: 'strict' }).first(null, budget.options),
      variables: {},
      once: false,
    });
  } catch (error) {
    if (error instanceof ExpressionError && error.kind === 'limit') {
      const message = `what a correlation expects takes too long: ${error.message}`;
      throw invalid([{ pointer: '/definition/schedule/on', code: 'expression', message }]);
    }
    if (error instanceof ExpressionError || (error instanceof Error && error.name === 'Error')) return null;
    throw error;
  }
}

/**
 * What the new owner's events start from now on: of workflows, and of the live runs that were handed over.
 */
export async function handOverListeners(
  em: EntityManager,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const moved = await em.execute<{ id: string }[]>(
    `update listener l set owner_id = ?
      where l.owner_id = ? and (
        exists (select from workflow w where w.id = l.workflow_id and w.team_id is null)
        or exists (select from run r where r.id = l.run_id and r.owner_id = ?)) returning id`,
    [to, from, to],
  );
  const ids = arrayLiteral(moved.map(({ id }) => id));
  await em.execute(
    `insert into listener_key (sender_id, type, shape, value, listener_id)
     select ?::uuid, type, shape, value, listener_id from listener_key
      where listener_id = any(?::uuid[]) and sender_id = ? on conflict do nothing`,
    [to, ids, from],
  );
  await em.execute('delete from listener_key where listener_id = any(?::uuid[]) and sender_id = ?', [
    ids,
    from,
  ]);
}
