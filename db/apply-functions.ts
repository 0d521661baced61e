/**
 * Applies the files of db/functions to a database. The table of applied functions has one version for all of
 * them, that of the newest build whose `migrate` has run. An older build changes nothing, not even functions
 * that the newer build left unchanged.
 */
import { readFunctionFiles, type FunctionFile } from './function-files.ts';
import { functionsVersion } from './functions/version.ts';
import { FUNCTION_TABLE, type AppliedFunction } from './migration-state.ts';

type Execute = (sql: string, values?: unknown[]) => Promise<unknown>;

/** Whether a newer build has applied its functions, or this build has nothing to change. */
export function functionsAreCurrent(applied: readonly AppliedFunction[]): boolean {
  if (isOfNewerBuild(applied)) return true;
  return changedFiles(applied).length === 0 && applied.every(({ version }) => version === functionsVersion);
}

/**
 * Call in a transaction, after the migrations. Returns the names of the functions that were created or
 * replaced.
 */
export async function applyFunctions(
  applied: readonly AppliedFunction[],
  execute: Execute,
): Promise<string[]> {
  await execute(`
create table if not exists ${FUNCTION_TABLE} (
  name text primary key,
  hash text not null,
  version bigint not null
)`);
  if (isOfNewerBuild(applied)) return [];
  const changed = changedFiles(applied);
  // The body of an SQL function may call another one that is created later.
  await execute('set local check_function_bodies = off');
  await execute(OWN_SEARCH_PATH);
  for (const { sql } of changed) await execute(sql);
  await execute(`delete from ${FUNCTION_TABLE}`);
  for (const { name, hash } of readFunctionFiles()) {
    await execute(`insert into ${FUNCTION_TABLE} (name, hash, version) values (?, ?, ?)`, [
      name,
      hash,
      functionsVersion,
    ]);
  }
  return changed.map(({ name }) => name);
}

/** The names of the functions that this build would create or replace. */
export function changedFunctions(applied: readonly AppliedFunction[]): string[] {
  return isOfNewerBuild(applied) ? [] : changedFiles(applied).map(({ name }) => name);
}

/**
 * What `set search_path from current` keeps. A session's temporary tables come first unless the path names
 * them: with one of its own, a caller of a function with the owner's rights could feed it other rows.
 */
const OWN_SEARCH_PATH = `select set_config('search_path', format('%I, pg_temp', current_schema()), true)`;

function isOfNewerBuild(applied: readonly AppliedFunction[]): boolean {
  return applied.some(({ version }) => version > functionsVersion);
}

function changedFiles(applied: readonly AppliedFunction[]): FunctionFile[] {
  return readFunctionFiles().filter(
    (file) => !applied.some(({ name, hash, exists }) => exists && name === file.name && hash === file.hash),
  );
}
