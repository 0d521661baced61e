/**
 * Writes the rows of a database as files, all of one snapshot, by PostgreSQL's own COPY: programs of
 * PostgreSQL are not needed, and any server of the same or a later version can read them. The schema is not
 * written, because migrations make it.
 */
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import * as z from 'zod';

import { OWN_NAME } from './own-name.ts';
import { hashing, passing } from './sums.ts';
import { FUNCTION_TABLE, MIGRATION_TABLE, readMigrationState } from '../../db/migration-state.ts';

const dumpedTable = z.object({
  name: z.string(),
  columns: z.array(z.string()),
  rows: z.int(),
  /** Of the file, in hexadecimal. */
  sha256: z.string(),
});
export type DumpedTable = z.infer<typeof dumpedTable>;

export const dumpedDatabase = z.object({
  /** Of the server, such as 180001. */
  server_version: z.int(),
  /** Names of the applied migrations; none for a database that is not Cadenza's. */
  migrations: z.array(z.string()),
  tables: z.array(dumpedTable),
  /** Partitions that migrations do not make. */
  partitions: z.array(z.object({ parent: z.string(), name: z.string(), bound: z.string() })),
  sequences: z.array(z.object({ name: z.string(), value: z.string() })),
});
export type DumpedDatabase = z.infer<typeof dumpedDatabase>;

/** They describe the schema, or this server's own pause and backups. */
const LEFT_OUT = [MIGRATION_TABLE, FUNCTION_TABLE, 'write_pause', 'backup'];

export interface Column {
  name: string;
  type: string;
}

export interface DumpOptions {
  url: string;
  /** Is created. */
  folder: string;
  /** Throws if the dump is no longer worth going on. */
  check: () => void;
  /** More files from the same snapshot: the lines that each query gives. */
  lists?: Readonly<Record<string, string>>;
}

/** @throws errors of the database and of the folder */
export async function dumpDatabase({ url, folder, check, lists = {} }: DumpOptions): Promise<DumpedDatabase> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const client = await connectForCopying(url);
  try {
    await client.query('begin isolation level repeatable read read only');
    const query = async <Row extends object>(sql: string) => (await client.query<Row>(sql)).rows;
    const { migrations } = await readMigrationState(query);
    const isOurs = migrations.length > 0;
    const tables: DumpedTable[] = [];
    for (const { name, columns } of await tablesOf(client)) {
      check();
      const copied = columns.map((column) => (isOurs ? copiedColumn(name, column) : quoted(column.name)));
      const sql = `select ${copied.join(', ')} from ${quoted(name)}`;
      const { rows, sha256 } = await copyToFile(client, sql, join(folder, fileOfTable(name)));
      tables.push({ name, columns: columns.map((column) => column.name), rows, sha256 });
    }
    for (const [file, sql] of Object.entries(lists)) await copyToFile(client, sql, join(folder, file));
    const version = await query<{ number: number }>(
      `select current_setting('server_version_num')::int as number`,
    );
    return {
      server_version: version[0]?.number ?? 0,
      migrations,
      tables,
      partitions: await query(PARTITIONS),
      sequences: await query(SEQUENCES),
    };
  } finally {
    await client.end();
  }
}

export const fileOfTable = (name: string): string => `${name}.copy.gz`;
export const quoted = (name: string): string => pg.escapeIdentifier(name);

/** A connection without the limits of time that requests have. */
export async function connectForCopying(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: OWN_NAME,
    keepAlive: true,
  });
  // A lost connection is reported by the query that needs it.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(
    `set statement_timeout = 0; set lock_timeout = '60s'; set idle_in_transaction_session_timeout = 0;
     set timezone = 'UTC'; set datestyle = 'ISO'; set extra_float_digits = 3`,
  );
  return client;
}

const PARTITIONS = `
  select p.relname as parent, c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
   where c.relispartition and c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
   order by c.relname collate "C"`;

const SEQUENCES = `
  select sequencename as name, last_value::text as value from pg_sequences
   where schemaname = current_schema() and last_value is not null order by sequencename collate "C"`;

/** Tables with the columns that are stored by whoever inserts, in alphabetical order. */
export async function tablesOf(client: pg.Client): Promise<{ name: string; columns: Column[] }[]> {
  const { rows } = await client.query<{ name: string; columns: Column[] }>(
    `select c.relname as name,
            json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null))
                     order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and not c.relispartition and c.relname <> all($1)
        and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      group by c.relname order by c.relname collate "C"`,
    [LEFT_OUT],
  );
  return rows;
}

/** All that the deliveries have read counts as transaction 1, the rest as 2. */
const IS_UNREAD = `(tx, gpos) > (select c.tx, c.gpos from delivery_cursor c where c.name = 'fan_out')`;
/** How many transactions keep their order; a new server has given out more than these. */
const RECENT = 500;

/**
 * A column as it is written. Numbers of transactions mean something only on their server: a new one begins
 * again with low ones, and would take its own events for older than those that were restored. The audit log
 * keeps them, because its seals are about them, and the sealer copes (domain/audit/seal.ts).
 */
function copiedColumn(table: string, { name, type }: Column): string {
  // Before all that is unread: events of several transactions have the same number now.
  if (table === 'delivery_cursor' && name === 'gpos') return `-1`;
  if (type !== 'xid8' || table.startsWith('audit_')) return quoted(name);
  if (table === 'run_event') return `case when ${IS_UNREAD} then '2' else '1' end`;
  if (table === 'delivery_cursor') return `'2'`;
  if (table === 'delivery_target')
    return `case when ${quoted(name)} > (select c.tx from delivery_cursor c where c.name = 'fan_out')
                 then '2' else '1' end`;
  const shift = `(pg_snapshot_xmax(pg_current_snapshot())::text::numeric - ${RECENT})`;
  return `case when ${quoted(name)} is not null
               then greatest(${quoted(name)}::text::numeric - ${shift}, 1) end`;
}

/**
 * The rows are counted as they pass: the driver learns of PostgreSQL's own count only after the end of the
 * data, and says 0 until then.
 */
async function copyToFile(
  client: pg.Client,
  sql: string,
  file: string,
): Promise<{ rows: number; sha256: string }> {
  const source = client.query(copyTo(`copy (${sql}) to stdout`));
  const hash = hashing();
  let rows = 0;
  const counting = passing((chunk) => {
    // In the text format each row is a line, and those within values are escaped.
    for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) rows += 1;
  });
  const target = createWriteStream(file, { mode: 0o600 });
  await pipeline(source, counting, createGzip({ level: 3 }), hash.stream, target);
  // Once this is answered, the driver knows.
  await client.query('select');
  if (source.rowCount !== rows)
    throw new Error(`PostgreSQL copied ${source.rowCount} rows, and ${rows} came: ${sql}`);
  return { rows, sha256: hash.sha256() };
}

const LINE_END = 0x0a;
