import type { EntityManager } from '../../db/orm.ts';

import { qualifiedName } from '../../contracts/run-events.ts';

/**
 * `name` for the data of a lifecycle event that is not written by the workflow; empty if there is no such
 * run.
 */
export async function runName(em: EntityManager, runId: string): Promise<{ name?: string }> {
  const [row] = await em.execute<{ name: string | null; namespace: string | null }[]>(
    `select definition #>> '{document,name}' as name, definition #>> '{document,namespace}' as namespace
       from run where id = ?`,
    [runId],
  );
  if (!row?.name) return {};
  return { name: qualifiedName({ name: row.name, namespace: row.namespace ?? 'default' }, runId) };
}
