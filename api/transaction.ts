import type { EntityManager } from '../db/orm.ts';
import { databaseCode } from '../db/unavailable.ts';
import { AppError } from '../domain/errors.ts';

/**
 * Runs work in its own transaction. Retries after a serialization failure or deadlock, which is safe because
 * nothing outside the database has happened yet. An AppError rolls back, unless `keepsChanges` is set.
 */
export async function inTransaction<T>(
  fork: () => EntityManager,
  work: (em: EntityManager) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const outcome = await fork().transactional(async (em) => {
        try {
          return { value: await work(em) };
        } catch (error) {
          if (error instanceof AppError && error.keepsChanges) return { keptError: error };
          throw error;
        }
      });
      if ('keptError' in outcome) throw outcome.keptError;
      return outcome.value;
    } catch (error) {
      if (attempt === 3 || !isRolledBack(error)) throw error;
    }
  }
}

/** Work of one statement without a transaction; null if the database has rolled it back, to try otherwise. */
export async function unlessRolledBack<T>(work: () => Promise<T | null>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (isRolledBack(error)) return null;
    throw error;
  }
}

/** Work of one statement that changes nothing if it refuses; null then, to be refused in the full order. */
export async function unlessRefused<T>(work: () => Promise<T | null>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** A serialization failure or deadlock: nothing was changed, and a repeat may succeed. */
function isRolledBack(error: unknown): boolean {
  const code = databaseCode(error);
  return code === '40001' || code === '40P01';
}
