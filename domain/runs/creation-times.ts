/**
 * When runs were created, as ranges of their ids. Ids carry the time at which they were made (UUIDv7, RFC
 * 9562), and lists are in the order of ids, so a period is a part of the list. `created_at` is the database's
 * time when the row was stored. Usually milliseconds are in between; but clocks may differ, and the row of a
 * child is stored when a worker comes to it. Rows more than `TOLERANCE_MS` apart are in the index
 * `run_off_time`, and widen the range, so that the answer is exact whatever the clocks say.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { Conditions } from '../../db/sql.ts';

const TOLERANCE_MS = 5 * 60_000;
const MAX_MS = 2 ** 48 - 1;

/** The condition of the index, word by word. */
const IS_OFF = `(created_at - to_timestamp(
  ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0))
  not between interval '-5 minutes' and interval '5 minutes'`;

export interface CreationTimes {
  created_after?: string | undefined;
  created_before?: string | undefined;
}

/** Adds the conditions on the run `r`. */
export async function addCreationTimes(
  em: EntityManager,
  where: Conditions,
  { created_after: after, created_before: before }: CreationTimes,
): Promise<void> {
  if (after) {
    const first = await firstOff(em, 'created_at > ?::timestamptz', 'asc', after);
    const bound = idAt(Date.parse(after) - TOLERANCE_MS, '0');
    where.add('r.id >= ?::uuid', first !== null && first < bound ? first : bound);
    where.add('r.created_at > ?::timestamptz', after);
  }
  if (before) {
    const last = await firstOff(em, 'created_at < ?::timestamptz', 'desc', before);
    const bound = idAt(Date.parse(before) + TOLERANCE_MS + 1, 'f');
    where.add('r.id <= ?::uuid', last !== null && last > bound ? last : bound);
    where.add('r.created_at < ?::timestamptz', before);
  }
}

/** The lowest or highest id of a run whose id was made at quite another time than its row. */
async function firstOff(
  em: EntityManager,
  condition: string,
  order: 'asc' | 'desc',
  time: string,
): Promise<string | null> {
  const [row] = await em.execute<{ id: string }[]>(
    // Few rows; without the materialized part the planner would rather walk all runs in their order.
    `with off as materialized (select id from run where ${IS_OFF} and ${condition})
     select id from off order by id ${order} limit 1`,
    [time],
  );
  return row?.id ?? null;
}

/** The first or the last id of a millisecond. Ids in lower case have the order of their bytes. */
function idAt(ms: number, fill: '0' | 'f'): string {
  const hex = Math.min(Math.max(Math.floor(ms), 0), MAX_MS)
    .toString(16)
    .padStart(12, '0');
  const rest = (length: number): string => fill.repeat(length);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-${rest(4)}-${rest(4)}-${rest(12)}`;
}
