/** One record that an erasure searches: whether its run goes on, its values, and their replacement. */
import type { EntityManager } from '../../db/orm.ts';
import type { Reading } from './name-finder.ts';
import { allowRenaming } from './replace-names.ts';
import { columnsOf, keyColumns, keyValues, type TextPlace, type TextType } from './text-place.ts';

interface Stored {
  values: Record<string, unknown>;
  /** Null if the record is of none. */
  run_id: string | null;
  is_live: boolean;
  is_kept: boolean;
}

/**
 * Whether its run has ended is asked first; then the row is locked, if its texts may change, until they are
 * replaced.
 */
export async function readRecord(
  em: EntityManager,
  place: TextPlace,
  key: readonly string[],
  isLocked: boolean,
): Promise<Stored | null> {
  const { texts = {}, fixed = {}, unless } = place;
  const run = await readRun(em, place, key, isLocked);
  const values = [
    ...Object.entries(texts).map(([column, type]) =>
      type === 'texts' ? `to_json(t."${column}")` : `t."${column}"`,
    ),
    ...Object.values(fixed)
      .flat()
      .map((column) => `t."${column}"::text`),
  ];
  const columns = columnsOf(place);
  const [row] = await em.execute<Record<string, unknown>[]>(
    `select ${values.map((value, index) => `${value} as "value ${index}"`).join(', ')},
            ${unless?.condition ?? 'false'} as is_kept
       from ${place.table} t where (${keyColumns(place)}) = (${keyValues(place)})
       ${isLocked && !run.is_live && Object.keys(texts).length > 0 ? 'for no key update of t' : ''}`,
    [...key],
  );
  if (row === undefined) return null;
  return {
    values: Object.fromEntries(columns.map((column, index) => [column, row[`value ${index}`]])),
    ...run,
    is_kept: row['is_kept'] === true,
  };
}

/** A run that has ended stays so. Of one that is live, who is about to end it is waited for. */
async function readRun(
  em: EntityManager,
  place: TextPlace,
  key: readonly string[],
  waits: boolean,
): Promise<Pick<Stored, 'run_id' | 'is_live'>> {
  if (place.run === undefined) return { run_id: null, is_live: false };
  const [run] = await em.execute<{ run_id: string; is_live: boolean }[]>(
    `select r.id as run_id, r.finished_at is null as is_live
       from ${place.table} t join run r on r.id = ${place.run}
      where (${keyColumns(place)}) = (${keyValues(place)})`,
    [...key],
  );
  if (run === undefined) return { run_id: null, is_live: false };
  if (!waits || !run.is_live) return run;
  // The lock is given free at once: the run goes on, and its texts stay.
  await em.execute('savepoint before_run');
  const [now] = await em.execute<{ is_live: boolean }[]>(
    'select finished_at is null as is_live from run where id = ? for no key update',
    [run.run_id],
  );
  await em.execute('rollback to savepoint before_run');
  await em.execute('release savepoint before_run');
  return { ...run, is_live: now?.is_live ?? false };
}

export async function replaceTexts(
  em: EntityManager,
  place: TextPlace,
  key: readonly string[],
  changed: readonly { column: string; type: TextType; reading: Reading<unknown> }[],
): Promise<void> {
  // Of all tables, this one alone refuses other changes.
  if (place.table === 'hitl_audit') await allowRenaming(em);
  const sets = changed.map(({ column, type }) => `"${column}" = ${SET[type]}`);
  const values = changed.map(({ type, reading: { value } }) =>
    type === 'text' || type === 'body' ? value : JSON.stringify(value),
  );
  await em.execute(
    `update ${place.table} t set ${sets.join(', ')} where (${keyColumns(place)}) = (${keyValues(place)})`,
    [...values, ...key],
  );
}

/** SQL: the new value. */
const SET: Readonly<Record<TextType, string>> = {
  text: '?',
  body: '?',
  texts: 'array(select json_array_elements_text(?::json))',
  json: '?::json',
  record: '?::json',
};
