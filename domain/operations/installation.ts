import type { EntityManager } from '../../db/orm.ts';

/**
 * The id that this database has had since its creation. It distinguishes installations that share a Temporal
 * namespace.
 */
export async function readInstallationId(em: EntityManager): Promise<string> {
  const [row] = await em.execute<{ id: string }[]>(`select installation_id as id from maintenance`);
  if (!row) throw new Error('the table "maintenance" has no row');
  return row.id;
}
