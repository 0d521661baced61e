/** Many waiting runs, as rows. */
import { v7 as uuidv7 } from 'uuid';
import type { ListenerSpec } from '../../contracts/listening.ts';
import type { EntityManager } from '../../db/orm.ts';
import { NOTHING_YET } from '../../domain/events/listener-rows.ts';
import { keysOf, type Shape } from '../../domain/events/listener-keys.ts';

const AT_ONCE = 5_000;

function waitsFor(order: number): ListenerSpec {
  return {
    mode: 'one',
    filters: [
      {
        with: { type: 'order.paid' },
        correlate: [{ name: 'order', from: '.data.order', expect: String(order), plain: true }],
      },
    ],
    goes_on: false,
    once: true,
    variables: {},
  };
}

/** Default: each waits for an order, from 0 on. @returns their ids */
export async function insertListeners(
  em: EntityManager,
  owner: string,
  count: number,
  specOf: (n: number) => ListenerSpec = waitsFor,
): Promise<string[]> {
  const shapes = new Map<string, Shape>();
  const ids: string[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const rows = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => {
      const spec = specOf(from + n);
      const indexed = keysOf(spec, NOTHING_YET);
      for (const [shape, definition] of indexed.shapes) shapes.set(shape, definition);
      return { id: uuidv7(), run_id: uuidv7(), spec, keys: indexed.keys };
    });
    ids.push(...rows.map(({ id }) => id));
    await em.execute(
      `with rows as (
         select * from json_to_recordset(?::json) as r (id uuid, run_id uuid, spec json, keys json)
       ), runs as (
         insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
         select run_id, 'listens', '{}', 'waiting', ?, run_id from rows
       ), listeners as (
         insert into listener (id, owner_id, run_id, task_ref, visit, spec, state, since)
         select id, ?, run_id, '/do/0/wait', 1, spec, ?::jsonb, now() - interval '1 minute' from rows
       )
       insert into listener_key (sender_id, type, shape, value, listener_id)
       select ?, k.type, k.shape, k.value, rows.id
         from rows, json_to_recordset(rows.keys) as k (type text, shape text, value text)`,
      [JSON.stringify(rows), owner, owner, JSON.stringify(NOTHING_YET), owner],
    );
  }
  for (const [shape, definition] of shapes)
    await em.execute('insert into listener_shape values (?, ?::json) on conflict do nothing', [
      shape,
      JSON.stringify(definition),
    ]);
  return ids;
}
