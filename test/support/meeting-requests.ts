import type { TestApp } from './app.ts';
import { until } from './platform.ts';

/** Statements that wait for a lock. */
async function waiting({ orm }: TestApp): Promise<number> {
  const rows = await orm.em
    .fork()
    .execute(`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`);
  return rows.length;
}

/** Sends the second request once the first one has done all but commit; both go on when it waits, too. */
export async function meet<A, B>(
  app: TestApp,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  const em = app.orm.em.fork();
  await em.begin();
  try {
    // Changes are audited at the end of their transactions.
    await em.execute('lock table audit_entry in share mode');
    const one = first();
    await until(
      () => waiting(app),
      (count) => count >= 1,
    );
    const other = second();
    await until(
      () => waiting(app),
      (count) => count >= 2,
    );
    await em.rollback();
    return [await one, await other];
  } finally {
    if (em.isInTransaction()) await em.rollback();
  }
}
