/**
 * The part of `cadenza server …` that needs the server's code and settings. The command line starts it with
 * the name of a command, and its options as JSON on stdin. It answers lines of JSON on stdout: `say` for
 * people, `result` at the end, or `error` with what to do.
 */
import { text } from 'node:stream/consumers';

import { loadServerEnv, type ServerEnv } from '../../config/env.ts';
import { MigrationRefused } from '../../db/former-migrations.ts';
import { BackupRuns } from '../../domain/operations/backups.ts';
import { PauseLost, WritesPaused } from '../../domain/operations/write-pause.ts';
import { rotateKeys } from '../../worker/rotate-keys.ts';
import { runningTemporal } from '../temporal.ts';
import { backUp, type BackupOptions } from './backup.ts';
import { OtherSchema } from './database-load.ts';
import { diagnose } from './doctor.ts';
import { ServerCommandError, withInstallation, type Installation } from './installation.ts';
import { interruptible } from './interruption.ts';
import { pause, resume } from './pause.ts';
import { recount } from './recount.ts';
import { resetAdmin, type ResetOptions } from './reset-admin.ts';
import { restore, type RestoreOptions } from './restore.ts';
import { upgrade } from './upgrade.ts';
import { verifyBackup } from './verify-backup.ts';

type Say = (line: string) => void;

const interruption = interruptible(() => process.exit(130));

// The assertions hold: only cli/commands/server.ts starts this, with the options that it declares.
const COMMANDS: Readonly<Record<string, (options: unknown, say: Say) => Promise<unknown>>> = {
  backup: (options, say) => backUp({ ...(options as BackupOptions), signal: interruption }, say),
  restore: (options, say) => restore(options as RestoreOptions, say),
  'verify-backup': (options, say) => verifyBackup((options as { folder: string }).folder, say),
  upgrade: (options) => upgrade(options as { dryRun?: boolean }),
  'reset-admin': (options) => resetAdmin(options as ResetOptions & { dryRun?: boolean }),
  'rotate-keys': (_options, say) => rotate(say),
  pause: (options) => pause((options as { reason: string }).reason),
  resume: () => resume(),
  recount: () => recount(),
  doctor: () => diagnose(),
};

/** Failures whose message says all. */
const EXPECTED = [ServerCommandError, BackupRuns, WritesPaused, PauseLost, MigrationRefused, OtherSchema];

function rotate(say: Say): Promise<{ complete: boolean }> {
  return withInstallation('running', async (installation) => ({
    complete: await rotateKeys({ env: await serverEnv(installation), say }),
  }));
}

async function serverEnv({ env, dataDir }: Installation): Promise<ServerEnv> {
  if (dataDir === null) return loadServerEnv();
  const address = env.TEMPORAL_ADDRESS ?? (await runningTemporal(dataDir));
  if (address === null)
    throw new ServerCommandError('Temporal does not run. Start everything with npm start.');
  return { ...env, TEMPORAL_ADDRESS: address };
}

function answer(line: Record<string, unknown>): Promise<void> {
  return new Promise((resolve) => void process.stdout.write(`${JSON.stringify(line)}\n`, () => resolve()));
}

const [name = ''] = process.argv.slice(2);
const run = COMMANDS[name];
if (run === undefined) throw new Error(`no command ${name}`);
try {
  const options: unknown = JSON.parse(await text(process.stdin));
  await answer({ result: (await run(options, (say) => void answer({ say }))) ?? null });
  process.exit(0);
} catch (error) {
  const isExpected = EXPECTED.some((kind) => error instanceof kind);
  const message = error instanceof Error ? error.message : String(error);
  if (!isExpected && error instanceof Error) process.stderr.write(`${error.stack ?? message}\n`);
  await answer({ error: message });
  process.exit(1);
}
