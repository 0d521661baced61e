import type { EntityManager } from '../../db/orm.ts';
import { usableBy } from '../auth/ownership.ts';

export interface WorkflowReference {
  namespace: string;
  name: string;
  /** A semantic version, or `latest`. */
  version: string;
}

/**
 * The workflow and revision that `run: workflow` names, with the rights of `ownerId`. The owner's own
 * workflows come first, then public ones; among several the newest, and in one workflow the newest revision
 * with that version (`latest`: the current one).
 */
export async function findByReference(
  em: EntityManager,
  ownerId: string,
  { namespace, name, version }: WorkflowReference,
): Promise<{ workflow_id: string; revision: number } | null> {
  const rows = await em.execute<{ workflow_id: string; revision: number }[]>(
    `select r.workflow_id, r.revision
       from workflow_revision r
       join workflow w on w.id = r.workflow_id
      where r.dsl_namespace = ? and r.dsl_name = ?
        and case when ? = 'latest' then r.revision = w.revision else r.dsl_version = ? end
        and w.archived_at is null and ${usableBy('w')}
      order by (w.holder_id = ?) desc, w.id desc, r.revision desc
      limit 1`,
    [namespace, name, version, version, ownerId, ownerId],
  );
  return rows[0] ?? null;
}
