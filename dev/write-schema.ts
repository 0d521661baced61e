/**
 * `npm run schema`, to run after migrations or functions change: writes db/schema.sql from a new database,
 * and raises the functions' version if they changed. Tests compare both.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

import { digestOf, readFunctionFiles } from '../db/function-files.ts';
import { functionsDigest, functionsVersion } from '../db/functions/version.ts';
import { migrate } from '../db/migrate.ts';
import { dumpSchema } from './dump-schema.ts';
import { startPostgres } from './postgres.ts';

await raiseVersion();
await writeSchema();

async function raiseVersion(): Promise<void> {
  const digest = digestOf(readFunctionFiles());
  if (digest === functionsDigest) return;
  const now = Number(new Date().toISOString().replaceAll(/\D/g, '').slice(0, 12));
  const text = `// Written by \`npm run schema\`: the UTC minute of the last change of a function.
// \`migrate\` never replaces functions of a higher version.
export const functionsVersion = ${Math.max(now, functionsVersion + 1)};
export const functionsDigest = '${digest}';
`;
  await writeFile(new URL('../db/functions/version.ts', import.meta.url), text);
}

async function writeSchema(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'cadenza-schema-'));
  const postgres = await startPostgres({ dataDir, throwaway: true });
  const client = new pg.Client({ connectionString: postgres.url });
  try {
    await migrate(postgres.url);
    await client.connect();
    await writeFile(new URL('../db/schema.sql', import.meta.url), await dumpSchema(client));
  } finally {
    await client.end();
    await postgres.stop();
    rmSync(postgres.clusterDir, { recursive: true, force: true });
    rmSync(dataDir, { recursive: true, force: true });
  }
}
