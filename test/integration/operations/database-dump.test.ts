/** Copies of a database: their counts are those of the rows, however PostgreSQL's answer is cut in pieces. */
import { gunzipSync } from 'node:zlib';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { dumpDatabase, type DumpedDatabase } from '../../../dev/server/database-dump.ts';
import { loadDatabase } from '../../../dev/server/database-load.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

/** PostgreSQL's message CopyDone, after which the number of copied rows comes. */
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);
const LATE_MS = 100;

let database: TestDatabase;
let client: pg.Client;
let proxy: Server;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`create table note (id int, text text);
    insert into note values (1, 'one'), (2, E'two\\nlines'), (3, null), (4, '')`);
  proxy = createServer((near) => {
    const { hostname, port } = new URL(database.url);
    const far = connect(Number(port), hostname);
    near.on('error', () => far.destroy()).pipe(far);
    void (async () => {
      for await (const chunk of far as AsyncIterable<Buffer>) {
        const at = chunk.indexOf(COPY_DONE);
        const end = at === -1 ? chunk.length : at + COPY_DONE.length;
        near.write(chunk.subarray(0, end));
        if (at !== -1) await sleep(LATE_MS);
        if (end < chunk.length) near.write(chunk.subarray(end));
      }
      near.end();
    })().catch(() => near.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  folder = mkdtempSync(join(tmpdir(), 'cadenza-dump-'));
});
afterAll(async () => {
  await client.end();
  await new Promise((resolve) => proxy.close(resolve));
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

let dump: DumpedDatabase;

test('a copy counts its rows, also if what PostgreSQL says of them comes late', async () => {
  const late = new URL(database.url);
  late.port = String((proxy.address() as AddressInfo).port);
  dump = await dumpDatabase({ url: late.href, folder: join(folder, 'dump'), check: () => {} });
  expect(dump.tables).toMatchObject([{ name: 'note', rows: 4 }]);
  expect(gunzipSync(readFileSync(join(folder, 'dump', 'note.copy.gz'))).toString()).toBe(
    '1\tone\n2\ttwo\\nlines\n3\t\\N\n4\t\n',
  );
});

const notes = async () => (await client.query('select * from note order by id')).rows;
const load = (tables: DumpedDatabase['tables']): Promise<number> =>
  loadDatabase({ client, folder: join(folder, 'dump'), dump: { ...dump, tables }, say: () => {} });

test('a table of which an earlier release wrote 0 rows is restored with all of them', async () => {
  const before = await notes();
  await client.query('truncate note');
  await load(dump.tables.map((table) => ({ ...table, rows: 0 })));
  expect(await notes()).toEqual(before);
});

test('another number of rows than the backup has is an error', async () => {
  await expect(load(dump.tables.map((table) => ({ ...table, rows: 5 })))).rejects.toThrow(
    'The table note has 4 rows after the restore, and 5 in the backup.',
  );
});
