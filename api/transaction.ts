import type { EntityManager } from '../db/orm.ts';
import { AppError } from '../domain/errors.ts';
import { databaseCode } from './middleware/errors.ts';

/**
 * Runs work in a transaction of its own. Repeats what lost against a concurrent one: nothing outside of the database has
 * happened yet. A refusal rolls back, unless it says that it keeps its changes.
 */
export async function inTransaction<T>(fork: () => EntityManager, work: (em: EntityManager) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const outcome = await fork().transactional(async (em) => {
        try {
          return { value: await work(em) };
        } catch (error) {
          if (error instanceof AppError && error.keepsChanges) return { refusal: error };
          throw error;
        }
      });
      if ('refusal' in outcome) throw outcome.refusal;
      return outcome.value;
    } catch (error) {
      const code = databaseCode(error);
      if (attempt === 3 || (code !== '40001' && code !== '40P01')) {
        throw error;
      }
    }
  }
}
