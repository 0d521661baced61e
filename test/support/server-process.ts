/**
 * The process behind one server of a test run: `node server-process.ts postgres|temporal|temporal-small
 * <folder> <pid of jest>`.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isAlive } from '../../dev/os-process.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { startTemporal, type TemporalOptions } from '../../dev/temporal.ts';
import { publish } from './run-folder.ts';
import { namespaceNames, templateDatabase, type Service } from './servers.ts';

/**
 * A workflow is asked to continue as new after so many events. Versions of workers drain within seconds. A
 * task queue is in one part, so what waits in it has one order.
 */
const smallSettings = {
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  'limit.historyCount.suggestContinueAsNew': 25,
  'matching.wv.VersionDrainageStatusVisibilityGracePeriod': '"1s"',
  'matching.wv.VersionDrainageStatusRefreshInterval': '"1s"',
};

const [service, folder, jestPid] = process.argv.slice(2) as [Service, string, string];
const stopping = Promise.withResolvers<void>();
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => stopping.resolve());
publish(folder, `${service}.pid`, String(process.pid));
try {
  const server =
    service === 'postgres' ? await postgres() : await temporal(service === 'temporal' ? {} : smallSettings);
  publish(folder, service, JSON.stringify(server.shared));
  void goneJest().then(() => stopping.resolve());
  await stopping.promise;
  await server.stop();
} catch (error) {
  publish(
    folder,
    `${service}.failed`,
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  );
  process.exitCode = 1;
}
if (!isAlive(Number(jestPid))) rmSync(folder, { recursive: true, force: true });
process.exit();

async function postgres() {
  const server = await startPostgres({ dataDir: join(folder, 'postgres-data'), throwaway: true });
  const adminUrl = server.url.replace(/[^/]*$/, 'postgres');
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${templateDatabase}`);
  await client.end();
  const migrations = new URL('../../db/migrate.ts', import.meta.url);
  if (existsSync(migrations)) {
    const { migrate } = (await import(migrations.href)) as { migrate(url: string): Promise<unknown> };
    await migrate(server.url.replace(/[^/]*$/, templateDatabase));
  }
  const stop = async () => {
    await server.stop();
    rmSync(server.clusterDir, { recursive: true, force: true });
  };
  return { shared: { adminUrl }, stop };
}

async function temporal(dynamicConfig: Record<string, number | string>) {
  const namespaces = dynamicConfig === smallSettings ? namespaceNames.slice(0, 10) : namespaceNames;
  const start = (ports: Pick<TemporalOptions, 'port' | 'uiPort' | 'otherPorts'>) =>
    startTemporal({
      dataDir: join(folder, `${service}-data`),
      ...ports,
      throwaway: true,
      namespaces,
      dynamicConfig,
      stuck: (reason) => process.stderr.write(`Temporal: ${reason}\n`),
    });
  let server = await start({ port: 0, uiPort: 0 });
  const stopped = new AbortController();
  // One that is stuck ends, and goes on with the same data at the same address, as in `npm start`.
  const keepRunning = async (): Promise<void> => {
    for (;;) {
      await server.exited;
      if (stopped.signal.aborted) return;
      server = await start(server);
      if (stopped.signal.aborted) return;
    }
  };
  const kept = keepRunning().catch((error: unknown) => {
    process.stderr.write(`Temporal is not started again: ${String(error)}\n`);
  });
  const stop = async (): Promise<void> => {
    stopped.abort();
    await server.stop();
    // One that was just starting has taken its place.
    await kept;
    await server.stop();
  };
  return { shared: { address: server.address, uiUrl: server.uiUrl }, stop };
}

/** A killed jest runs no teardown. */
async function goneJest(): Promise<void> {
  while (isAlive(Number(jestPid))) await sleep(1_000);
}
