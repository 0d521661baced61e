/**
 * The installation that a command of the server's machine works on: the servers that the settings name, or
 * those of `npm start` in DATA_DIR, which run or are started for the command.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { createFileStore } from '../../adapters/file-stores/create-file-store.ts';
import { childEnv, loadEnv, parseEnv, type Env } from '../../config/env.ts';
import { createOrm, type EntityManager, type Orm } from '../../db/orm.ts';
import type { FileStore } from '../../domain/files/ports.ts';
import { KEYS_FILE } from '../data-dir.ts';
import { LOCAL_EGRESS } from '../local-egress.ts';
import { claimInstance, InstanceRuns } from '../instance.ts';
import { runningPostgres, startPostgres } from '../postgres.ts';
import { OWN_NAME } from './own-name.ts';

/** An expected failure, whose message says what to do. */
export class ServerCommandError extends Error {
  override readonly name = 'ServerCommandError';
}

export interface Installation {
  env: Env & { DATABASE_URL: string };
  orm: Orm;
  fork: () => EntityManager;
  files: FileStore;
  /** Of `npm start`; null if the settings name a database. */
  dataDir: string | null;
  /** Ends what was started for the command. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;

/**
 * `running`: an installation that may be in use. `stopped`: only one that is not. `attached`: its servers
 * run, and are neither started nor ended.
 */
type Use = 'running' | 'stopped' | 'attached';

/** @throws ServerCommandError */
async function openInstallation(use: Use): Promise<Installation> {
  const env = loadEnv();
  if (env.DATABASE_URL !== undefined) return opened(env, { url: env.DATABASE_URL, dataDir: null });
  if (use !== 'stopped' && !existsSync(env.DATA_DIR))
    throw new ServerCommandError(
      `There is no installation: DATABASE_URL is not set, and ${resolve(env.DATA_DIR)} does not exist. ` +
        'Run this where Cadenza runs, with its settings.',
    );
  return use === 'attached' ? openRunning(env) : openEmbedded(env, use);
}

/** Does the work of a command, and ends what was started for it. @throws as `openInstallation`, and `work` */
export async function withInstallation<T>(
  use: Use,
  work: (installation: Installation) => Promise<T>,
): Promise<T> {
  const installation = await openInstallation(use);
  try {
    return await work(installation);
  } finally {
    await installation.close();
  }
}

async function openEmbedded(env: Env, use: 'running' | 'stopped'): Promise<Installation> {
  let instance: Awaited<ReturnType<typeof claimInstance>>;
  try {
    instance = await claimInstance(resolve(env.DATA_DIR));
  } catch (error) {
    if (!(error instanceof InstanceRuns)) throw error;
    if (use === 'stopped') throw new ServerCommandError(error.message, { cause: error });
    return openRunning(env);
  }
  try {
    await instance.endLeftovers();
    const dataDir = realpathSync(env.DATA_DIR);
    const server = await startPostgres({
      dataDir,
      spawned: (pid) => instance.remember('PostgreSQL', pid),
    });
    const close = async (): Promise<void> => {
      await server.stop();
      instance.release();
    };
    return await opened(env, { url: server.url, dataDir, close });
  } catch (error) {
    instance.release();
    throw error;
  }
}

async function openRunning(env: Env): Promise<Installation> {
  const dataDir = realpathSync(env.DATA_DIR);
  const url = await runningPostgres(dataDir);
  if (url === null)
    throw new ServerCommandError(
      `npm start runs on ${dataDir}, but its PostgreSQL does not answer yet. Try again in a moment.`,
    );
  return opened(env, { url, dataDir });
}

interface Place {
  url: string;
  dataDir: string | null;
  close?: () => Promise<void>;
}

async function opened(env: Env, { url, dataDir, close }: Place): Promise<Installation> {
  const settings = { ...env, ...keysOf(env, dataDir), ...egressOf(env, dataDir), DATABASE_URL: url };
  const orm = createOrm({ url, applicationName: OWN_NAME, poolSize: 4, statementTimeoutMs: DAY_MS });
  const files = await createFileStore(settings);
  return {
    env: settings,
    orm,
    fork: () => orm.em.fork(),
    files,
    dataDir,
    async close() {
      await orm.close(true);
      await close?.();
    },
  };
}

export const keysFile = (dataDir: string): string => join(dataDir, KEYS_FILE);

/** `npm start` keeps the keys that it has made in its folder. */
function keysOf(env: Env, dataDir: string | null): Partial<Pick<Env, 'ENCRYPTION_KEYS'>> {
  if (env.ENCRYPTION_KEYS.length > 0 || dataDir === null || !existsSync(keysFile(dataDir))) return {};
  return { ENCRYPTION_KEYS: parsedKeys(readFileSync(keysFile(dataDir), 'utf8'), keysFile(dataDir)) };
}

/** As for the programs that `npm start` starts. */
function egressOf(env: Env, dataDir: string | null): Partial<Pick<Env, 'EGRESS_ALLOW'>> {
  if (env.EGRESS_ALLOW.length > 0 || dataDir === null) return {};
  const parsed = parseEnv({ EGRESS_ALLOW: LOCAL_EGRESS });
  return 'env' in parsed ? { EGRESS_ALLOW: parsed.env.EGRESS_ALLOW } : {};
}

/** @throws ServerCommandError that names `source` */
export function parsedKeys(text: string, source: string): Env['ENCRYPTION_KEYS'] {
  const parsed = parseEnv({ ENCRYPTION_KEYS: text });
  if ('env' in parsed) return parsed.env.ENCRYPTION_KEYS;
  throw new ServerCommandError(`${source} has no encryption keys: ${parsed.problems[0]?.message ?? ''}`);
}

/** As the settings write them. */
export function keysText(dataDir: string | null): string | undefined {
  const given = childEnv({})['ENCRYPTION_KEYS'];
  if (given !== undefined && given.trim() !== '') return given.trim();
  return dataDir !== null && existsSync(keysFile(dataDir))
    ? readFileSync(keysFile(dataDir), 'utf8').trim()
    : undefined;
}
