/** Reads what `dumpDatabase` has written into a database that has the schema of that time. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

import { counted } from '../../contracts/counted.ts';
import { fileOfTable, quoted, tablesOf, type DumpedDatabase, type DumpedTable } from './database-dump.ts';

export interface LoadOptions {
  /** In a transaction, on tables that nobody else uses. */
  client: pg.Client;
  folder: string;
  dump: DumpedDatabase;
  say: (line: string) => void;
}

/** The database has other tables or columns than the dump. */
export class OtherSchema extends Error {
  override readonly name = 'OtherSchema';
}

/**
 * Replaces all rows. Foreign keys and triggers are away meanwhile, so that the order of tables does not
 * matter and nothing is derived twice; the owner of the tables may do this without being a superuser.
 * @returns the number of rows @throws OtherSchema, and errors of database and files
 */
export async function loadDatabase({ client, folder, dump, say }: LoadOptions): Promise<number> {
  await refuseOther(client, dump.tables);
  await replacePartitions(client, dump.partitions);
  const names = dump.tables.map(({ name }) => name);
  const keys = await foreignKeys(client);
  for (const { table, name } of keys)
    await client.query(`alter table ${table} drop constraint ${quoted(name)}`);
  for (const name of names) await client.query(`alter table ${quoted(name)} disable trigger user`);
  await client.query(`truncate ${names.map(quoted).join(', ')}`);
  let all = 0;
  for (const table of dump.tables) {
    const rows = await load(client, folder, table);
    all += rows;
    if (rows > 0) say(`  ${table.name}: ${counted(rows, 'row')}`);
  }
  for (const name of names) await client.query(`alter table ${quoted(name)} enable trigger user`);
  for (const { table, name, definition } of keys)
    await client.query(`alter table ${table} add constraint ${quoted(name)} ${definition}`);
  for (const { name, value } of dump.sequences)
    await client.query(`select setval($1::regclass, $2)`, [quoted(name), value]);
  await client.query('analyze');
  return all;
}

async function refuseOther(client: pg.Client, dumped: readonly DumpedTable[]): Promise<void> {
  const present = await tablesOf(client);
  const missing = dumped.flatMap(({ name, columns }) => {
    const table = present.find((one) => one.name === name);
    if (table === undefined) return [name];
    const has = new Set(table.columns.map((column) => column.name));
    return columns.filter((column) => !has.has(column)).map((column) => `${name}.${column}`);
  });
  const added = present
    .filter(({ name }) => !dumped.some((one) => one.name === name))
    .map(({ name }) => name);
  if (missing.length + added.length > 0)
    throw new OtherSchema(
      `The database has another schema than the backup: ${[
        ...(missing.length > 0 ? [`it lacks ${missing.slice(0, 10).join(', ')}`] : []),
        ...(added.length > 0 ? [`the backup lacks ${added.slice(0, 10).join(', ')}`] : []),
      ].join(', and ')}.`,
    );
}

/** With the partitions of the backup, which may be of other months. */
async function replacePartitions(client: pg.Client, partitions: DumpedDatabase['partitions']): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits i join pg_class c on c.oid = i.inhparent
      where c.relkind = 'p' and c.relname = any($1)`,
    [partitions.map(({ parent }) => parent)],
  );
  for (const { name } of rows) await client.query(`drop table ${name}`);
  for (const { parent, name, bound } of partitions)
    await client.query(`create table ${quoted(name)} partition of ${quoted(parent)} ${bound}`);
}

interface ForeignKey {
  table: string;
  name: string;
  definition: string;
}

async function foreignKeys(client: pg.Client): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition
       from pg_constraint
      where contype = 'f' and connamespace = current_schema()::regnamespace and conparentid = 0
      order by conrelid::regclass::text, conname`,
  );
  return rows;
}

/**
 * Earlier releases could write 0 for a table that has rows: what counts is its file, whose checksum fits.
 * @returns the number of rows
 */
async function load(
  client: pg.Client,
  folder: string,
  { name, columns, rows }: DumpedTable,
): Promise<number> {
  const target = client.query(
    copyFrom(`copy ${quoted(name)} (${columns.map(quoted).join(', ')}) from stdin`),
  );
  await pipeline(createReadStream(join(folder, fileOfTable(name))), createGunzip(), target);
  const loaded = target.rowCount ?? 0;
  if (loaded !== rows && rows !== 0)
    throw new Error(
      `The table ${name} has ${counted(loaded, 'row')} after the restore, and ${rows} in the backup.`,
    );
  return loaded;
}
