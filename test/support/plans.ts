/** The plans of the statements that something sends through the ORM. */
import type { Orm } from '../../db/orm.ts';

export interface Statement {
  sql: string;
  values: readonly unknown[];
}

/** Does the work, and returns the queries that it sends, without those that are prepared once. */
export type KeepStatements = (work: () => Promise<unknown>) => Promise<Statement[]>;

export function keepStatements(orm: Orm): KeepStatements {
  let kept: Statement[] | null = null;
  orm.config.set('onQuery', (sql, values) => {
    if (/^\s*(?:select|with)\b/i.test(sql)) kept?.push({ sql, values });
    return sql;
  });
  return async (work) => {
    const mine: Statement[] = [];
    kept = mine;
    await work();
    kept = null;
    return mine;
  };
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

/** Which of the tables are scanned from end to end, and how many of their rows are read. */
export async function explainAll(
  orm: Orm,
  statements: readonly Statement[],
  tables: readonly string[],
): Promise<{ scanned: string[]; read: number }> {
  const scanned: string[] = [];
  let read = 0;
  for (const { sql, values } of statements) {
    const [row] = await orm.em
      .fork()
      .execute<{ 'QUERY PLAN': { Plan: Plan }[] }[]>(`explain (analyze, format json) ${sql}`, [...values]);
    for (const node of nodesOf(row?.['QUERY PLAN'][0]?.Plan)) {
      const table = node['Relation Name']?.replace(/^run_event_\w+$/, 'run_event');
      if (table === undefined || !tables.includes(table)) continue;
      if (node['Node Type'] === 'Seq Scan') scanned.push(`${table}: ${sql}`);
      const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Index Recheck': rechecked = 0 } = node;
      read += (node['Actual Rows'] + filtered + rechecked) * node['Actual Loops'];
    }
  }
  return { scanned, read };
}

function nodesOf(plan: Plan | undefined): Plan[] {
  return plan === undefined ? [] : [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
