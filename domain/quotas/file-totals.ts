/**
 * The totals of files by holder, which a trigger keeps: whether they are those of the rows, and their repair.
 */
import type { EntityManager } from '../../db/orm.ts';

const ROWS = `select holder_id, sum(size)::bigint as bytes, count(*) filter (where not of_runs) as files
  from file group by holder_id`;
const KEPT = `select holder_id, sum(bytes)::bigint as bytes, sum(files)::bigint as files
  from file_total group by holder_id`;

/**
 * In one statement, so both are of one moment. @returns the holders with other totals than their files have
 */
export async function wrongTotals(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select coalesce(f.holder_id, t.holder_id) as id
       from (${ROWS}) f full join (${KEPT}) t using (holder_id)
      where coalesce(f.bytes, 0) <> coalesce(t.bytes, 0) or coalesce(f.files, 0) <> coalesce(t.files, 0)
      order by 1`,
  );
  return rows.map(({ id }) => id);
}

/** Counts the files again, while none changes. @returns the holders whose totals were wrong */
export async function recountFiles(fork: () => EntityManager): Promise<string[]> {
  return fork().transactional(async (em) => {
    await em.execute('lock table file in share row exclusive mode');
    const wrong = await wrongTotals(em);
    await em.execute('delete from file_total');
    await em.execute(
      `insert into file_total (holder_id, stripe, bytes, files)
       select holder_id, 0, bytes, files from (${ROWS}) counted`,
    );
    return wrong;
  });
}
