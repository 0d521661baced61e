/**
 * The commands of docs/operations.md that back up and restore PostgreSQL, as they are written there. A shell
 * function stands for `docker compose exec`, and runs its command against a local server.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect } from '@jest/globals';
import pg from 'pg';

import { migrate } from '../../../db/migrate.ts';
import { dumpSchema } from '../../../dev/dump-schema.ts';
import { startPostgres, type EmbeddedPostgres } from '../../../dev/postgres.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { testUnless } from '../../support/outside.ts';
import { findPostgresTools } from '../../support/postgres-tools.ts';
import { createTestDatabase } from '../../support/servers.ts';
import { commandsIn } from '../../support/shell.ts';

const root = join(import.meta.dirname, '../../..');
const tools = await findPostgresTools();
const testWithTools = testUnless('missing' in tools ? tools.missing : undefined);
const toolsFolder = 'folder' in tools ? tools.folder : '';

let app: TestApp;
let folder: string;

beforeAll(async () => {
  app = await startTestApp();
  folder = mkdtempSync(join(tmpdir(), 'cadenza-backup-'));
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The commands of a section of docs/operations.md that contain a text. */
function documented(heading: string, text: string): string[] {
  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const commands = [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([block]) => block);
  return commands.filter((block) => block.includes(text)).flatMap((block) => commandsIn(block, 'sh'));
}

async function shell(script: string, env: Record<string, string>): Promise<void> {
  const path = [toolsFolder, process.env['PATH']].filter(Boolean).join(':');
  await promisify(execFile)('bash', ['-euc', script], { cwd: folder, env: { ...env, PATH: path } });
}

/** Every table with its number of rows and a digest of them, and the schema. */
async function contentOf(url: string): Promise<{ schema: string; rows: Record<string, string> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select relname as name from pg_class
        where relnamespace = current_schema()::regnamespace and relkind = 'r' order by 1`,
    );
    const rows: Record<string, string> = {};
    for (const { name } of tables.rows) {
      const found = await client.query<{ digest: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') as digest
           from "${name}" t`,
      );
      rows[name] = found.rows[0]?.digest ?? '';
    }
    return { schema: await dumpSchema(client), rows };
  } finally {
    await client.end();
  }
}

testWithTools(
  'a dump of the database restores all rows and the schema, and migrate finds nothing to do',
  async () => {
    const builder = await app.as('builder');
    await builder.put('/secrets/KEY', { value: 'a long value' });
    await builder.post('/agents', agentBody({ configuration: { endpoint: 'https://agents.example.com' } }));
    await builder.post('/workflows', { name: 'one', definition: { do: [{ wait: { wait: 'PT1S' } }] } });
    const restored = await createTestDatabase({ empty: true });
    const [dump = ''] = documented('Back up', 'pg_dump --format=custom --file');
    const [restore = '', ...further] = documented('Restore', 'pg_restore --no-owner');
    await shell(dump, { DATABASE_URL: app.databaseUrl });
    await shell(restore, { DATABASE_URL: restored.url });
    expect(further).toEqual(['npm run migrate']);
    await migrate(restored.url);

    const expected = await contentOf(app.databaseUrl);
    expect(expected.rows).toMatchObject({ agent: expect.stringMatching(/^1 /), secret: expect.any(String) });
    expect(await contentOf(restored.url)).toEqual(expected);
    await restored.drop();
  },
  120_000,
);

testWithTools(
  'the commands for Docker restore the databases of Cadenza and Temporal over newer ones',
  async () => {
    const server = await startPostgres({ dataDir: join(folder, 'server'), throwaway: true });
    try {
      const url = new URL(server.url);
      const docker = 'docker() { if [ "$2" = exec ]; then shift 4; "$@"; fi; }';
      const env = { PGHOST: url.hostname, PGPORT: url.port, PGPASSWORD: url.password };
      await migrate(server.url);
      await fill(server);
      const before = await contentOf(server.url);
      expect(before.rows).toMatchObject({ user_account: expect.stringMatching(/^1 /) });
      await shell([docker, ...documented('Back up', 'docker compose exec')].join('\n'), env);
      await query(server.url, 'delete from user_account; create table newer (id int)');
      await shell([docker, ...documented('Restore', 'docker compose exec')].join('\n'), env);
      expect(await contentOf(server.url)).toEqual(before);
      expect(await query(databaseOf(server, 'temporal'), 'select * from executions')).toEqual([{ id: 7 }]);
    } finally {
      await server.stop();
      rmSync(server.clusterDir, { recursive: true, force: true });
    }
  },
  180_000,
);

async function fill(server: EmbeddedPostgres): Promise<void> {
  await query(
    server.url,
    `insert into user_account (id, username, email, password_hash, roles)
     values (gen_random_uuid(), 'ann', 'ann@example.org', 'hash', '{builder}')`,
  );
  for (const name of ['temporal', 'temporal_visibility']) {
    await query(server.url, `create database ${name}`);
    await query(databaseOf(server, name), 'create table executions as select 7 as id');
  }
}

function databaseOf({ url }: EmbeddedPostgres, name: string): string {
  return url.replace(/[^/]*$/, name);
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
