/**
 * Ensures one instance per data folder: a lock, and a list of processes with which the next start ends those
 * that a kill left behind.
 */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { attempt } from './attempt.ts';
import { endProcess, identityOf } from './os-process.ts';

const record = z.object({ role: z.string(), pid: z.int(), identity: z.string(), started_at: z.string() });
const fileSchema = z.object({ base_url: z.string().nullable(), processes: z.array(record) });

type ProcessRecord = z.infer<typeof record>;

export type Instance = {
  /** Records the process of a role in processes.json, replacing the previous one. */
  remember(role: string, pid: number): Promise<void>;
  announce(baseUrl: string): void;
  /** Ends processes of an earlier instance, clients of the servers first. @returns their roles */
  endLeftovers(): Promise<string[]>;
  release(): void;
};

/** Thrown if another instance is alive on the same data folder. */
export class InstanceRuns extends Error {}

const LOCK_ROLE = 'npm start';
/** Clients end first, while their servers still run, so that they can finish. */
const CLIENTS = ['api', 'worker', 'migrate', 'backups'];
const TAKEOVER_MS = 10_000;

/** Claims the data folder, even from a dead instance. @throws InstanceRuns if a live instance has it */
export async function claimInstance(dataDir: string): Promise<Instance> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = join(dataDir, 'lock');
  const list = join(dataDir, 'processes.json');
  await takeLock(dataDir, lock, list);
  const own = await describe(LOCK_ROLE, process.pid);
  const left = read(list).processes.filter(({ role }) => role !== LOCK_ROLE);
  let content: z.infer<typeof fileSchema> = { base_url: null, processes: [own, ...left] };
  const write = () => replaceFile(list, `${JSON.stringify(content, null, 2)}\n`);
  write();
  return {
    async remember(role, pid) {
      const entry = await describe(role, pid);
      content = {
        ...content,
        processes: [...content.processes.filter((recorded) => recorded.role !== role), entry],
      };
      write();
    },
    announce(baseUrl) {
      content = { ...content, base_url: baseUrl };
      write();
    },
    async endLeftovers() {
      const alive: ProcessRecord[] = [];
      for (const entry of left) if (await isSame(entry)) alive.push(entry);
      const first = alive.filter(({ role }) => CLIENTS.includes(role));
      const then = alive.filter(({ role }) => !CLIENTS.includes(role));
      await Promise.all(first.map(({ pid }) => endProcess(pid, [{ signal: 'SIGTERM', waitMs: 3_000 }])));
      await Promise.all(then.map(({ pid }) => endProcess(pid, [{ signal: 'SIGINT', waitMs: 4_000 }])));
      content = { ...content, processes: [own] };
      write();
      return alive.map(({ role }) => role);
    },
    release() {
      rmSync(list, { force: true });
      rmSync(lock, { force: true });
    },
  };
}

/** The address that `npm start` on this folder announced; null while it is not ready. */
export const readAnnounced = (dataDir: string): string | null =>
  read(join(dataDir, 'processes.json')).base_url;

async function takeLock(dataDir: string, lock: string, list: string): Promise<void> {
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(await describe(LOCK_ROLE, process.pid)), { mode: 0o600 });
  const giveUpAt = Date.now() + 2 * TAKEOVER_MS;
  try {
    while (!linked(mine, lock)) {
      const holder = attempt(() => record.parse(JSON.parse(readFileSync(lock, 'utf8'))));
      if (holder && (await isSame(holder))) {
        const { base_url } = read(list);
        throw new InstanceRuns(
          `Cadenza is already running on ${dataDir} (process ` +
            `${holder.pid}${base_url ? `, ${base_url}` : ''}). ` +
            'Stop it first, or use another DATA_DIR and PORT for this one.',
        );
      }
      await removeStale(lock, holder);
      if (Date.now() > giveUpAt) throw new Error(`Cannot take the lock ${lock}.`);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * Removes a dead instance's lock. A guard lets only one process do this at a time; otherwise the second would
 * remove the first one's new lock.
 */
async function removeStale(lock: string, holder: ProcessRecord | undefined): Promise<void> {
  const guard = `${lock}.takeover`;
  try {
    mkdirSync(guard);
  } catch {
    const since = attempt(() => statSync(guard).mtimeMs);
    if (since !== undefined && Date.now() - since > TAKEOVER_MS) attempt(() => rmdirSync(guard));
    await sleep(50);
    return;
  }
  try {
    const now = attempt(() => record.parse(JSON.parse(readFileSync(lock, 'utf8'))));
    if (now?.pid === holder?.pid && now?.identity === holder?.identity) rmSync(lock, { force: true });
  } finally {
    attempt(() => rmdirSync(guard));
  }
}

async function describe(role: string, pid: number): Promise<ProcessRecord> {
  return { role, pid, identity: (await identityOf(pid)) ?? 'gone', started_at: new Date().toISOString() };
}

async function isSame({ pid, identity }: ProcessRecord): Promise<boolean> {
  return (await identityOf(pid)) === identity;
}

function read(list: string): z.infer<typeof fileSchema> {
  const content = existsSync(list)
    ? attempt(() => fileSchema.parse(JSON.parse(readFileSync(list, 'utf8'))))
    : undefined;
  return content ?? { base_url: null, processes: [] };
}

function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.part`, content, { mode: 0o600 });
  renameSync(`${path}.part`, path);
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}
