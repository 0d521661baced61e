/**
 * Real PostgreSQL and Temporal for tests: one of each for the whole test run, started when a test file first
 * asks, so that unit tests pay for none. Each test file gets a database and a namespace of its own.
 */
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { claim, published, runFolder } from './run-folder.ts';

export type Service = 'postgres' | 'temporal' | 'temporal-small';
export type TestDatabase = {
  /** The URL of a database with all migrations and no rows, or of an empty one. */
  url: string;
  /** Ends the connections and drops the database. Optional: the whole server is removed after the run. */
  drop(): Promise<void>;
};
export type TestTemporal = { address: string; uiUrl: string; namespace: string; taskQueue: string };

export const templateDatabase = 'cadenza_template';
/**
 * Created when the server starts, with search attributes: a later one takes seconds to be known everywhere.
 */
export const namespaceNames: readonly string[] = Array.from(
  { length: 200 },
  (_unused, index) => `test-${index + 1}`,
);

/** Longer than a start takes, except for building a Temporal server. */
const startTimeoutMs = 240_000;

/** A separate database for the caller, cloned from the migrated template, or empty. */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const { adminUrl } = (await demand('postgres')) as { adminUrl: string };
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await execute(
    adminUrl,
    `CREATE DATABASE ${name} TEMPLATE ${options.empty ? 'template1' : templateDatabase} STRATEGY FILE_COPY`,
  );
  return {
    url: adminUrl.replace(/[^/]*$/, name),
    drop: () => execute(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** A separate Temporal namespace and task queue for the caller. */
export async function testTemporal(): Promise<TestTemporal> {
  const { address, uiUrl } = (await demand('temporal')) as { address: string; uiUrl: string };
  const namespace = namespaceNames.find((name) => claim(name));
  if (!namespace)
    throw new Error(
      `More than ${namespaceNames.length} namespaces were asked for: raise the number in servers.ts.`,
    );
  return { address, uiUrl, namespace, taskQueue: namespace };
}

/**
 * On a server that suggests continue-as-new after a few events of history, so that runs do it all the time,
 * and that does not split task queues.
 */
export async function smallTemporal(): Promise<TestTemporal> {
  const { address, uiUrl } = (await demand('temporal-small')) as { address: string; uiUrl: string };
  const namespace = namespaceNames.find((name) => claim(`small-${name}`));
  if (!namespace)
    throw new Error(
      `More than ${namespaceNames.length} namespaces were asked for: raise the number in servers.ts.`,
    );
  return { address, uiUrl, namespace, taskQueue: namespace };
}

async function demand(service: Service): Promise<unknown> {
  if (claim(service)) {
    const log = openSync(join(runFolder(), `${service}.log`), 'a');
    const program = fileURLToPath(new URL('server-process.ts', import.meta.url));
    // Jest's main process is the parent of its workers, or this process itself when it runs in band.
    const jestPid = process.env['JEST_WORKER_ID'] && process.send ? process.ppid : process.pid;
    spawn(process.execPath, [program, service, runFolder(), String(jestPid)], {
      detached: true,
      stdio: ['ignore', log, log],
    }).unref();
  }
  return JSON.parse(await published(service, startTimeoutMs)) as unknown;
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
