/** Continues erasures in batches, each a transaction that also says how far it came. */
import type { EntityManager } from '../../db/orm.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../audit/write.ts';
import type { FileStore } from '../files/ports.ts';
import { removeRunsOf } from '../retention/remove.ts';
import { erasedUsername, type RunChoice } from './erase.ts';
import { counted, removeBatch, type Counts } from './holdings.ts';
import { RENAMING } from './replace-names.ts';

export interface ErasureDeps {
  fork: () => EntityManager;
  files: Pick<FileStore, 'remove'>;
}

/** In the audit log, by the system. */
const FINISHED_ACTION = 'erasure_finished';

/**
 * Works until there is nothing left or the time is over. Several processes may call it: each erasure is one's
 * at a time. @returns whether there is more
 */
export async function continueErasures({ fork, files }: ErasureDeps, budgetMs: number): Promise<boolean> {
  const deadline = performance.now() + budgetMs;
  while (performance.now() < deadline) {
    const { worked, unused } = await attempt(fork);
    // After a crash here, the sweep removes these contents, since no row names them any more.
    for (const id of unused) await files.remove(id);
    if (!worked) return false;
  }
  return true;
}

/** One that fails is tried again after the others. */
async function attempt(fork: () => EntityManager): Promise<Worked> {
  const picked: { userId?: string } = {};
  try {
    return await fork().transactional((em) => continueOnce(em, picked));
  } catch (error) {
    const { userId = null } = picked;
    await fork().execute('update erasure set tried_at = clock_timestamp() where user_id = ?', [userId]);
    throw error;
  }
}

interface Row {
  user_id: string;
  runs: RunChoice;
  former: { username: string } | null;
  step: number;
  position: string | null;
  removed: Counts;
  replaced: Counts;
}

interface Worked {
  worked: boolean;
  /** Ids of files whose contents have to be removed after the commit. */
  unused: string[];
}

async function continueOnce(em: EntityManager, picked: { userId?: string }): Promise<Worked> {
  const [row] = await em.execute<Row[]>(
    `select user_id, runs, former, step, position, removed, replaced from erasure
      where finished_at is null order by tried_at limit 1 for update skip locked`,
  );
  if (!row) return { worked: false, unused: [] };
  picked.userId = row.user_id;
  const { unused, ...next } = await work(em, row);
  const { step, position, removed, replaced } = { ...row, ...next };
  await em.execute(
    `update erasure set step = ?, position = ?, removed = ?::jsonb, replaced = ?::jsonb where user_id = ?`,
    [step, position, JSON.stringify(removed), JSON.stringify(replaced), row.user_id],
  );
  return { worked: true, unused };
}

type Progress = Partial<Pick<Row, 'step' | 'position' | 'removed' | 'replaced'>> & { unused: string[] };

/** Names first, because some are found by what is removed after them. */
async function work(em: EntityManager, row: Row): Promise<Progress> {
  const renaming = RENAMING[row.step];
  if (renaming !== undefined) return rename(em, row, renaming);
  const from = Number(row.position ?? 0);
  const batch = await remove(em, row, from);
  if (batch !== null) return batch;
  if (row.runs === 'remove') {
    const { runs, files } = await removeRunsOf(em, row.user_id);
    if (runs > 0) return { removed: counted(row.removed, 'runs', runs), unused: files };
  }
  // A request that was under way at the beginning may have added something to what was gone already.
  const late = from === 0 ? null : await remove(em, row, 0);
  if (late !== null) return late;
  await finish(em, row);
  return { unused: [] };
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

async function finish(em: EntityManager, { user_id: id, removed, replaced }: Row): Promise<void> {
  await em.execute('update erasure set former = null, finished_at = clock_timestamp() where user_id = ?', [
    id,
  ]);
  const data = { removed, replaced };
  await writeAudit(em, SYSTEM_ORIGIN, { action: FINISHED_ACTION, objectType: 'user', objectId: id, data });
}
