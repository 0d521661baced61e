/**
 * Looks for a person's names in the texts of one table after the other, a batch at a time. Names are reported
 * or replaced, and stay where a record has to stay as it is (docs/privacy.md).
 */
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { NameFinder, Reading } from './name-finder.ts';
import type { NameSearch } from './name-searches.ts';
import { PLACES_OF_CONNECTIONS, PLACES_OF_PEOPLE } from './places-of-people.ts';
import { PLACES_OF_RUNS } from './places-of-runs.ts';
import { readRecord, replaceTexts } from './searched-record.ts';
import {
  columnsOf,
  keyColumns,
  keyValues,
  nameOf,
  typeOf,
  type Stay,
  type TextPlace,
  type TextType,
} from './text-place.ts';

export const TEXT_PLACES: readonly TextPlace[] = [
  ...PLACES_OF_PEOPLE,
  ...PLACES_OF_CONNECTIONS,
  ...PLACES_OF_RUNS,
];

/** Records of a batch, and their size as they are stored, so that a batch takes about a second at most. */
const RECORDS = 2_000;
const BYTES = 1_048_576;
/** Records of a batch that may have a name, each of which is read by itself. */
const MATCHES = 200;

export interface Search extends NameSearch {
  /** Whether names are to be replaced; `plan`: only say where they would be. */
  mode: 'report' | 'replace' | 'plan';
}

/** A record with a name. */
export interface Finding {
  id: string;
  replaced: boolean;
  /** Why a name stays; null where none does, or where only a report was asked for. */
  stay: Stay | null;
  /** The ended run whose history has the texts that were replaced. */
  runId: string | null;
}

interface SearchedBatch {
  findings: Finding[];
  /** The key of the last record; null at the end of the table. */
  after: string[] | null;
}

/** Searches the records that follow a key, in the caller's transaction. */
export async function searchBatch(
  em: EntityManager,
  place: TextPlace,
  search: Search,
  after: readonly string[] | null,
): Promise<SearchedBatch> {
  const { last, isEnd } = await nextPage(em, place, after);
  if (last === null) return { findings: [], after: null };
  const findings: Finding[] = [];
  const keys = await matchingKeys(em, place, search, after, last);
  for (const key of keys) {
    const finding = await searchRecord(em, place, search, key);
    if (finding !== null) findings.push(finding);
  }
  if (keys.length === MATCHES) return { findings, after: keys.at(-1) ?? null };
  return { findings, after: isEnd ? null : last };
}

/** SQL that compares the key. The first column by itself leads to the partitions of the log. */
function compared(place: TextPlace, sign: '>' | '<='): string {
  const [first = ''] = place.key;
  const bound = `t."${nameOf(first)}" ${sign}${sign === '>' ? '=' : ''} ?::${typeOf(first)}`;
  return `${bound} and (${keyColumns(place)}) ${sign} (${keyValues(place)})`;
}

const comparedValues = (key: readonly string[]): string[] => [key[0] ?? '', ...key];

/** As many records as a batch takes, without reading their values. */
async function nextPage(
  em: EntityManager,
  place: TextPlace,
  after: readonly string[] | null,
): Promise<{ last: string[] | null; isEnd: boolean }> {
  const names = place.key.map((column) => `t."${nameOf(column)}"::text`).join(', ');
  const sizes = columnsOf(place).map((column) => `coalesce(pg_column_size(t."${column}"), 0)`);
  const rows = await em.execute<{ key: string[]; bytes: number }[]>(
    `select json_build_array(${names}) as key, ${sizes.join(' + ')} as bytes from ${place.table} t
      where ${after === null ? 'true' : compared(place, '>')} order by ${keyColumns(place)} limit ?`,
    [...(after === null ? [] : comparedValues(after)), RECORDS],
  );
  let bytes = 0;
  const over = rows.findIndex((row) => (bytes += Number(row.bytes)) >= BYTES);
  const taken = over === -1 ? rows.length : over + 1;
  return { last: rows[taken - 1]?.key ?? null, isEnd: taken === rows.length && rows.length < RECORDS };
}

async function matchingKeys(
  em: EntityManager,
  place: TextPlace,
  { pattern }: Search,
  after: readonly string[] | null,
  last: readonly string[],
): Promise<string[][]> {
  const columns = columnsOf(place);
  const names = place.key.map((column) => `t."${nameOf(column)}"::text`).join(', ');
  const matches = columns.map((column) => `(t."${column}"::text collate "C") ~ ?`).join(' or ');
  const rows = await em.execute<{ key: string[] }[]>(
    `select json_build_array(${names}) as key from ${place.table} t
      where ${after === null ? 'true' : compared(place, '>')} and ${compared(place, '<=')} and (${matches})
      order by ${keyColumns(place)} limit ?`,
    [
      ...(after === null ? [] : comparedValues(after)),
      ...comparedValues(last),
      ...columns.map(() => pattern),
      MATCHES,
    ],
  );
  return rows.map(({ key }) => key);
}

/** One record at a time, because values may be large. */
async function searchRecord(
  em: EntityManager,
  place: TextPlace,
  search: Search,
  key: readonly string[],
): Promise<Finding | null> {
  const stored = await readRecord(em, place, key, search.mode === 'replace');
  if (stored === null) return null;
  const { texts = {}, fixed = {}, ids = [], unless } = place;
  const changes = Object.entries(texts).map(([column, type]) => ({
    column,
    type,
    reading: withoutIds(stored.values[column], type === 'record' ? ids : [], (value) =>
      readColumn(search.finder, value, type),
    ),
  }));
  const found = changes.filter(({ reading }) => reading.found > 0);
  const fixedStay = stayOfFixed(fixed, stored.values, search.finder);
  if (found.length === 0 && fixedStay === null) return null;
  const id = key[0] ?? '';
  if (search.mode === 'report') return { id, replaced: false, stay: null, runId: null };
  const held = stored.is_live ? 'live_run' : stored.is_kept ? (unless?.stay ?? null) : null;
  const changed = held === null ? found.filter(({ reading }) => reading.found > reading.left) : [];
  const ambiguous = found.some(({ reading }) => reading.left > 0) ? 'ambiguous' : null;
  if (changed.length > 0 && search.mode === 'replace') await replaceTexts(em, place, key, changed);
  return {
    id,
    replaced: changed.length > 0,
    stay: (found.length > 0 ? (held ?? ambiguous) : null) ?? fixedStay,
    runId: changed.length > 0 ? stored.run_id : null,
  };
}

function readColumn(finder: NameFinder, value: unknown, type: TextType): Reading<unknown> {
  const parsed = type === 'body' && typeof value === 'string' ? parsedJson(value) : undefined;
  if (parsed !== undefined) {
    const reading = finder.readJson(parsed, false);
    return { ...reading, value: JSON.stringify(reading.value) };
  }
  return finder.readJson(value, type === 'json');
}

/** Reads a record but for these fields, which stay. */
function withoutIds(
  value: unknown,
  ids: readonly string[],
  read: (value: unknown) => Reading<unknown>,
): Reading<unknown> {
  if (!isRecord(value) || !ids.some((name) => Object.hasOwn(value, name))) return read(value);
  const entries = Object.entries(value);
  const reading = read(Object.fromEntries(entries.filter(([name]) => !ids.includes(name))));
  const changed = isRecord(reading.value) ? reading.value : {};
  const whole = entries.map(([name, before]) => [name, ids.includes(name) ? before : changed[name]]);
  return { ...reading, value: Object.fromEntries(whole) };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Columns that stay are read as texts, whatever their type is. */
function stayOfFixed(
  fixed: NonNullable<TextPlace['fixed']>,
  values: Record<string, unknown>,
  finder: NameFinder,
): Stay | null {
  const hasName = (column: string): boolean => finder.readJson(values[column], false).found > 0;
  // The keys are those of the type.
  const stays = Object.entries(fixed) as [Stay, readonly string[]][];
  return stays.find(([, columns]) => columns.some(hasName))?.[0] ?? null;
}
