/**
 * Rows of the streams that are open on all copies of the API, so that the limits of a user and of an address
 * do not depend on the number of copies (docs/adr/0063). A stream is one row from its begin to its end, and a
 * copy renews one row for all of its streams.
 */
import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';

/** How long the streams of a copy count after it was heard of last. */
const LEASE = '30 seconds';
/** Rows of lost copies that are removed at once. */
const SWEPT = 100;

export interface OpenStream {
  id: string;
  user_id: string;
  address: string;
}

/** Who has too many. */
export interface TooManyStreams {
  scope: 'user' | 'address';
  limit: number;
  /** An administrator has given the user another limit than the setting. */
  own: boolean;
}

const OPEN = new Prepared(
  `select scope, most::float8 as "limit", own
     from open_stream(?::uuid, interval '${LEASE}', ?::uuid, ?::uuid, ?, ?::bigint, ?::bigint)`,
);

/** Exact, however many streams begin at once on whichever copy. @returns null if the stream is noted */
export async function noteOpenStream(
  em: EntityManager,
  copyId: string,
  { id, user_id: userId, address }: OpenStream,
  limits: { perUser: number; perAddress: number },
): Promise<TooManyStreams | null> {
  const values = [copyId, id, userId, address, String(limits.perUser), String(limits.perAddress)];
  const [refused = null] = await OPEN.execute<TooManyStreams>(em, values);
  return refused;
}

/** Of streams that have ended; those that are gone already are harmless. */
export async function removeOpenStreams(em: EntityManager, ids: Iterable<string>): Promise<void> {
  await em.execute('delete from open_stream where id = any(?::uuid[])', [arrayLiteral(ids)]);
}

/** @returns how many streams of the copy have a row */
export async function renewCopy(em: EntityManager, copyId: string): Promise<number> {
  const [row] = await em.execute<{ count: number }[]>(
    `with lost as (
       select id from api_copy
        where expires_at < clock_timestamp() - interval '1 minute' and id <> ?::uuid
        limit ${SWEPT} for update skip locked),
     swept as (delete from api_copy c using lost where c.id = lost.id),
     renewed as (
       insert into api_copy (id, expires_at) values (?::uuid, clock_timestamp() + interval '${LEASE}')
       on conflict (id) do update set expires_at = excluded.expires_at)
     select count(*)::int as count from open_stream where copy_id = ?::uuid`,
    [copyId, copyId, copyId],
  );
  return row?.count ?? 0;
}

export async function openStreamsOf(em: EntityManager, copyId: string): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>('select id from open_stream where copy_id = ?::uuid', [
    copyId,
  ]);
  return rows.map(({ id }) => id);
}

/** Notes streams whose rows were lost, in an outage or a crash of PostgreSQL, whatever the limits. */
export async function noteAgain(
  em: EntityManager,
  copyId: string,
  streams: readonly OpenStream[],
): Promise<void> {
  await em.execute(
    `insert into open_stream (id, copy_id, user_id, address)
     select s.id, ?::uuid, s.user_id, s.address
       from json_to_recordset(?::json) as s (id uuid, user_id uuid, address text) order by s.id
     on conflict (id) do nothing`,
    [copyId, JSON.stringify(streams)],
  );
}

/** With all of its streams. */
export async function removeCopy(em: EntityManager, copyId: string): Promise<void> {
  await em.execute('delete from api_copy where id = ?::uuid', [copyId]);
}
