/** Continues erasures in batches, each a transaction that also says how far it came. */
import type { EntityManager } from '../../db/orm.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../audit/write.ts';
import type { FileStore } from '../files/ports.ts';
import { removeRunsOf } from '../retention/remove.ts';
import type { RunChoice } from './erase.ts';
import { eraseTexts, firstTextPosition, queueHistories, type TextPosition } from './erase-texts.ts';
import { erasedUsername } from './erased-names.ts';
import { counted, removeBatch, type Counts } from './holdings.ts';
import { NameSearches } from './name-searches.ts';
import type { Former } from './names.ts';
import { RENAMING } from './replace-names.ts';
import type { StoredTexts, TextChoice } from './text-report.ts';

export interface ErasureDeps {
  fork: () => EntityManager;
  files: Pick<FileStore, 'remove'>;
}

/** The steps: names in records (`RENAMING`), what is about the person alone, texts. */
const REMOVAL = RENAMING.length;
const TEXTS = REMOVAL + 1;

/** In the audit log, by the system. */
const FINISHED_ACTION = 'erasure_finished';

/**
 * Works until there is nothing left or the time is over. Several processes may call it: each erasure is one's
 * at a time. @returns whether there is more
 */
export async function continueErasures({ fork, files }: ErasureDeps, budgetMs: number): Promise<boolean> {
  const deadline = performance.now() + budgetMs;
  const searches = new NameSearches();
  while (performance.now() < deadline) {
    const { worked, unused } = await attempt(fork, searches);
    // After a crash here, the sweep removes these contents, since no row names them any more.
    for (const id of unused) await files.remove(id);
    if (!worked) return false;
  }
  return true;
}

/** One that fails is tried again after the others. */
async function attempt(fork: () => EntityManager, searches: NameSearches): Promise<Worked> {
  const picked: { userId?: string } = {};
  try {
    return await fork().transactional((em) => continueOnce(em, searches, picked));
  } catch (error) {
    const { userId = null } = picked;
    await fork().execute('update erasure set tried_at = clock_timestamp() where user_id = ?', [userId]);
    throw error;
  }
}

interface Row {
  user_id: string;
  runs: RunChoice;
  free_text: TextChoice;
  former: Former | null;
  step: number;
  position: string | null;
  removed: Counts;
  replaced: Counts;
  texts: StoredTexts;
}

interface Worked {
  worked: boolean;
  /** Ids of files whose contents have to be removed after the commit. */
  unused: string[];
}

async function continueOnce(
  em: EntityManager,
  searches: NameSearches,
  picked: { userId?: string },
): Promise<Worked> {
  const [row] = await em.execute<Row[]>(
    `select user_id, runs, free_text, former, step, position, removed, replaced, texts from erasure
      where finished_at is null order by tried_at limit 1 for update skip locked`,
  );
  if (!row) return { worked: false, unused: [] };
  picked.userId = row.user_id;
  const { unused, ...next } = await work(em, searches, row);
  const { step, position, ...counts } = { ...row, ...next };
  const { removed, replaced, texts } = counts;
  // The search takes long where there is much: other erasures have their turns.
  await em.execute(
    `update erasure set step = ?, position = ?, removed = ?::jsonb, replaced = ?::jsonb, texts = ?::jsonb,
            tried_at = clock_timestamp()
      where user_id = ?`,
    [step, position, ...[removed, replaced, texts].map((value) => JSON.stringify(value)), row.user_id],
  );
  return { worked: true, unused };
}

type Progress = Partial<Pick<Row, 'step' | 'position' | 'removed' | 'replaced' | 'texts'>> & {
  unused: string[];
};

/**
 * Names in records first, because some are found by what is removed after them. Texts last: what is gone by
 * then need not be searched.
 */
async function work(em: EntityManager, searches: NameSearches, row: Row): Promise<Progress> {
  const renaming = RENAMING[row.step];
  if (renaming !== undefined) return rename(em, row, renaming);
  if (row.step === REMOVAL) {
    const batch = (await remove(em, row, Number(row.position ?? 0))) ?? (await removeRuns(em, row));
    return batch ?? { step: TEXTS, position: JSON.stringify(firstTextPosition()), unused: [] };
  }
  if (row.position !== null) return replaceTexts(em, searches, row, row.position);
  // A request that was under way at the beginning may have added something to what was gone already.
  const late = (await remove(em, row, 0)) ?? (await removeRuns(em, row));
  if (late !== null) return { ...late, position: null };
  await finish(em, row);
  return { unused: [] };
}

/** Null if there is none left. */
async function removeRuns(em: EntityManager, row: Row): Promise<Progress | null> {
  if (row.runs === 'keep') return null;
  const { runs, files } = await removeRunsOf(em, row.user_id);
  if (runs.length === 0) return null;
  await queueHistories(em, row.user_id, runs);
  return { removed: counted(row.removed, 'runs', runs.length), unused: files };
}

async function replaceTexts(
  em: EntityManager,
  searches: NameSearches,
  row: Row,
  position: string,
): Promise<Progress> {
  const { user_id: userId, former, free_text: choice } = row;
  // Written by this function, or at the end of the removal.
  const at = JSON.parse(position) as TextPosition;
  const erased = { searches, userId, former, choice, texts: row.texts };
  const { texts, next } = await eraseTexts(em, erased, at);
  return { texts, position: next === null ? null : JSON.stringify(next), unused: [] };
}

/** Null if there is nothing left from this kind on. */
async function remove(em: EntityManager, row: Row, from: number): Promise<Progress | null> {
  const { removed, next } = await removeBatch(em, row.user_id, from);
  if (removed === null) return null;
  return {
    removed: counted(row.removed, removed.kind, removed.count),
    position: String(next),
    unused: [],
  };
}

async function rename(
  em: EntityManager,
  row: Row,
  [kind, step]: (typeof RENAMING)[number],
): Promise<Progress> {
  const person = { id: row.user_id, from: row.former?.username ?? '', to: erasedUsername(row.user_id) };
  const { changed, position } = await step(em, person, row.position);
  return {
    replaced: counted(row.replaced, kind, changed),
    position,
    step: position === null ? row.step + 1 : row.step,
    unused: [],
  };
}

async function finish(em: EntityManager, { user_id: id, removed, replaced, texts }: Row): Promise<void> {
  await em.execute('update erasure set former = null, finished_at = clock_timestamp() where user_id = ?', [
    id,
  ]);
  const data = { removed, replaced, texts: { found: texts.found ?? {}, replaced: texts.replaced ?? {} } };
  await writeAudit(em, SYSTEM_ORIGIN, { action: FINISHED_ACTION, objectType: 'user', objectId: id, data });
}
