/**
 * Carries what calls produce from workers to the streams of all copies of the API, by notifications of
 * PostgreSQL, and only for runs that somebody follows (docs/adr/0020).
 */
import type { PartialOutput } from '../../contracts/partial-output.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';

/** How long a run counts as followed after `noteFollowed`. */
export const FOLLOWED_SECONDS = 30;
/** Rows that are over and removed at once. */
const SWEPT = 1_000;

export async function noteFollowed(em: EntityManager, runIds: Iterable<string>): Promise<void> {
  const ids = arrayLiteral(runIds);
  await em.execute(
    `with old as (
       select run_id from run_follower
        where until < clock_timestamp() - interval '1 minute' and run_id <> all(?::uuid[])
        limit ${SWEPT} for update skip locked),
     swept as (delete from run_follower f using old where f.run_id = old.run_id)
     insert into run_follower (run_id, until)
     select id, clock_timestamp() + make_interval(secs => ${FOLLOWED_SECONDS})
       from unnest(?::uuid[]) id order by id
     on conflict (run_id) do update set until = excluded.until`,
    [ids, ids],
  );
}

/** Those of the runs that somebody follows. */
export async function followedAmong(em: EntityManager, runIds: Iterable<string>): Promise<Set<string>> {
  const rows = await em.execute<{ run_id: string }[]>(
    `select run_id from run_follower where run_id = any(?::uuid[]) and until > clock_timestamp()`,
    [arrayLiteral(runIds)],
  );
  return new Set(rows.map(({ run_id: id }) => id));
}

/** PostgreSQL takes less than 8,000 bytes in a notification. */
export const MAX_NOTIFICATION_BYTES = 7_900;

export function notificationOf(runId: string, partial: PartialOutput): string {
  return JSON.stringify([runId, partial]);
}

export async function notify(em: EntityManager, notifications: readonly string[]): Promise<void> {
  await em.execute(`select pg_notify('run_partial', text) from unnest(?::text[]) text`, [
    arrayLiteral(notifications),
  ]);
}
