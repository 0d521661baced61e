/**
 * `npm run worker-versions`: shows the versions of workers, and chooses which one new runs begin with
 * (docs/operations.md#run-two-versions-side-by-side).
 */
import { versionName } from '../config/env-types.ts';
import { loadServerEnv, type ServerEnv } from '../config/env.ts';
import { createOrm } from '../db/orm.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { enqueueSignal } from '../domain/runs/signals.ts';
import { createFileStore } from '../adapters/file-stores/create-file-store.ts';
import { createPayloadStore } from '../domain/files/payload-store.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { gatewayOf } from '../temporal/gateway.ts';
import { makeCurrent, makeRamping, readVersions, runsStaying, type VersionState } from './deployment.ts';

const USAGE = `usage:
  worker-versions                     the versions, with the runs that stay with each
  worker-versions current BUILD       new runs begin with BUILD (none: with workers without a version)
  worker-versions ramp BUILD PERCENT  so many of 100 new runs begin with BUILD; 0 ends it
  worker-versions move BUILD          asks the runs of BUILD to continue on the current version`;

const BATCH = 100;

export interface VersionCommand {
  env: ServerEnv;
  args: readonly string[];
  say: (line: string) => void;
}

/** @returns false if the arguments are wrong. @throws what Temporal refuses, as the client's errors */
export async function manageVersions({ env, args, say }: VersionCommand): Promise<boolean> {
  const [command = 'list', buildId = '', percent = ''] = args;
  const share = Number(percent === '' ? Number.NaN : percent);
  const isRight =
    command === 'list'
      ? args.length <= 1
      : versionName().safeParse(buildId).success && args.length === (command === 'ramp' ? 3 : 2);
  if (!isRight || (command === 'ramp' && !(share >= 0 && share <= 100))) return false;
  const client = createTemporalClient(temporalSettings(env));
  try {
    switch (command) {
      case 'list':
        break;
      case 'current':
        await makeCurrent(client, env, buildId === 'none' ? '' : buildId);
        break;
      case 'ramp':
        await makeRamping(client, env, buildId, share);
        break;
      case 'move':
        say(`${await moveRuns(env, buildId)} runs asked to continue on the current version`);
        break;
      default:
        return false;
    }
    for (const line of tableOf(await readVersions(client, env))) say(line);
    return true;
  } finally {
    await client.connection.close();
  }
}

/** Each continues in a new execution as soon as no call of it is active. @returns how many were asked */
async function moveRuns(env: ServerEnv, buildId: string): Promise<number> {
  const orm = createOrm({ url: env.DATABASE_URL });
  const files = await createFileStore(env);
  const store = createPayloadStore({ fork: () => orm.em.fork(), files, inFiles: env.FILES_LARGE_VALUES });
  const converter = createDataConverter({ keys: env.ENCRYPTION_KEYS, store });
  const client = createTemporalClient(temporalSettings(env), converter);
  const temporal = gatewayOf(client, env);
  let asked = 0;
  const send = async (signals: string[]): Promise<void> => {
    asked += signals.length;
    // The reconciler resends signals that do not arrive now.
    await deliverSignals({ orm, temporal }, signals);
  };
  try {
    let batch: string[] = [];
    for await (const runId of runsStaying(client, env, buildId)) {
      const signal = await enqueueSignal(orm.em.fork(), runId, { kind: 'renew' });
      if (signal !== null) batch.push(signal);
      if (batch.length < BATCH) continue;
      await send(batch);
      batch = [];
    }
    await send(batch);
    return asked;
  } finally {
    await Promise.allSettled([orm.close(true), client.connection.close()]);
  }
}

function tableOf(versions: readonly VersionState[]): string[] {
  const rows = versions.map(({ buildId, state, percent, runs, workers }) => [
    buildId,
    percent === null ? state : `${state} ${percent} %`,
    String(runs),
    String(workers),
  ]);
  const all = [['BUILD', 'STATE', 'RUNS', 'WORKERS'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

if (import.meta.main) {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const args = process.argv.slice(2);
  const right = await manageVersions({ env: loadServerEnv(), args, say }).catch((error: unknown) => {
    // Temporal's reason is in `details`.
    const details = error instanceof Error && 'details' in error ? String(error.details) : '';
    process.stderr.write(`${details || String(error)}\n`);
    process.exit(1);
  });
  if (!right) process.stderr.write(`${USAGE}\n`);
  process.exit(right ? 0 : 64);
}
