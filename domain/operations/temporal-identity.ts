/**
 * Ties a database to the namespace on Temporal that has its runs, by the id that Temporal gave the namespace.
 * A process with another one would not find the runs there, and take them for lost.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { TemporalGateway } from '../ports.ts';

/** The message says what to do. */
export class WrongTemporal extends Error {
  override readonly name = 'WrongTemporal';
}

/**
 * Notes the namespace at the first start, and compares it at every later one. With `acceptNew`, another one
 * takes its place: then the next pass of the reconciler asks it for every run, and all schedules are made
 * there. @throws WrongTemporal
 */
export async function claimTemporal(
  em: EntityManager,
  namespaceId: string,
  { acceptNew }: { acceptNew: boolean },
): Promise<void> {
  await em.transactional(async (tx) => {
    const expected = await readNamespaceId(tx, 'for update');
    if (expected === namespaceId) return;
    if (expected !== null && !acceptNew) throw wrongTemporal(namespaceId, expected);
    await tx.execute('update maintenance set temporal_namespace_id = ?', [namespaceId]);
    if (expected === null) return;
    await tx.execute('update maintenance set sweep_after = null, sweep_begun_at = null');
    await tx.execute('update workflow_schedule set due_at = clock_timestamp(), told_generation = null');
  });
}

/** Whether Temporal is the one that has the runs of this database, as far as any process has noted that. */
export async function isOwnTemporal(
  em: EntityManager,
  temporal: Pick<TemporalGateway, 'namespaceId'>,
): Promise<boolean> {
  const expected = await readNamespaceId(em);
  return expected === null || expected === (await temporal.namespaceId());
}

export async function readNamespaceId(em: EntityManager, lock = ''): Promise<string | null> {
  const [row] = await em.execute<{ id: string | null }[]>(
    `select temporal_namespace_id as id from maintenance ${lock}`,
  );
  return row?.id ?? null;
}

function wrongTemporal(found: string, expected: string): WrongTemporal {
  return new WrongTemporal(
    'The namespace of TEMPORAL_NAMESPACE, on the Temporal of TEMPORAL_ADDRESS, does not have the runs of ' +
      `this database: its id is ${found}, and the database expects ${expected}. All api and worker ` +
      "processes need the same two settings. If Temporal's data was lost, or moved to another namespace, " +
      'start with ACCEPT_NEW_TEMPORAL=true once: runs that the namespace does not know end with an error.',
  );
}
