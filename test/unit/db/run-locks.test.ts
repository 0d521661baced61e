/** A lock on a run must leave its key alone: see `lockRun` in domain/runs/events.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');
const FOLDERS = ['domain', 'activities', 'api', 'db', 'worker', 'temporal'];

const sources = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') || file.endsWith('.sql'))
    .map((file) => `${folder}/${file}`),
);

/** A file in SQL is one text with statements. */
function readSource(file: string): string {
  const source = readFileSync(join(root, file), 'utf8');
  return file.endsWith('.sql') ? `\`${source.replaceAll('`', '')}\`` : source;
}

/**
 * Statements of a source that lock a run's row `for update`; those that delete the row lock it so in any
 * case.
 */
function lockingRuns(source: string): string[] {
  const statements = [...source.matchAll(/`([^`]*)`|'([^'\n]*)'/g)].flatMap(([, template, text]) =>
    (template ?? text ?? '').split(';'),
  );
  return statements.filter(
    (sql) =>
      !/\bdelete from run\b/.test(sql) &&
      [...sql.matchAll(/\bfor update(?:\s+of\s+(\w+))?/g)].some(({ index, 1: of }) => {
        const tables = [
          ...queryBefore(sql, index).matchAll(
            /\b(?:from|join)\s+run\b(?:\s+(?:as\s+)?(?!where|on|set|for|order|left|join|limit)(\w+))?/g,
          ),
        ];
        return tables.some(([, alias = 'run']) => of === undefined || of === alias);
      }),
  );
}

/** The query that a clause at `index` belongs to, up to it, without subqueries. */
function queryBefore(sql: string, index: number): string {
  let depth = 0;
  let start = index;
  while (start > 0 && depth >= 0) {
    start--;
    if (sql[start] === ')') depth++;
    if (sql[start] === '(') depth--;
  }
  let query = sql.slice(start + (depth < 0 ? 1 : 0), index);
  for (let before = ''; before !== query;) {
    before = query;
    query = query.replaceAll(/\([^()]*\)/g, '');
  }
  return query;
}

test('the check finds a full lock on a run, and ignores other tables and locks before a delete', () => {
  expect(lockingRuns('sql(`select id from run where id = ? for update`)')).toHaveLength(1);
  expect(
    lockingRuns('`select r.id from run r join workflow w on w.id = r.workflow_id for update of r`'),
  ).toHaveLength(1);
  expect(lockingRuns("'select 1 from run for update skip locked'")).toHaveLength(1);
  expect(lockingRuns('`select id from run where id = ? for no key update`')).toEqual([]);
  expect(
    lockingRuns('`select s.id from run_signal s join run r on r.id = s.run_id for update of s`'),
  ).toEqual([]);
  expect(lockingRuns('`select id from file where run_id = (select id from run limit 1) for update`')).toEqual(
    [],
  );
  expect(
    lockingRuns('`update run set x = 1 where id in (select id from run where status = ? for update)`'),
  ).toHaveLength(1);
  expect(
    lockingRuns(
      '`with old as (select id from run for update) delete from run where id in (select id from old)`',
    ),
  ).toEqual([]);
});

test('no statement locks a run for update', () => {
  expect(sources.length).toBeGreaterThan(100);
  expect(sources).toContain('db/functions/append_run_events.sql');
  const found = sources.flatMap((file) =>
    lockingRuns(readSource(file)).map((sql) => `${file}: ${sql.trim()}`),
  );
  expect(found).toEqual([]);
});
