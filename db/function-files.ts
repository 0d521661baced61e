/** The functions of the database. Each is a file of db/functions, and `migrate` applies them. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

export type FunctionFile = {
  name: string;
  /** `create or replace function …` */
  sql: string;
  hash: string;
};

const folder = new URL('./functions/', import.meta.url);

export function readFunctionFiles(): FunctionFile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) => readFunctionFile(file.replace(/\.sql$/, '')));
}

export function readFunctionFile(name: string): FunctionFile {
  const sql = readFileSync(new URL(`${name}.sql`, folder), 'utf8');
  return { name, sql, hash: sha256(sql) };
}

/** One digest for all files. */
export function digestOf(files: readonly FunctionFile[]): string {
  return sha256(files.map(({ name, hash }) => `${name} ${hash}\n`).join(''));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
