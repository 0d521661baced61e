/** Makes troubles, and ends them. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { signal } from '../../../dev/os-process.ts';
import { freeze } from '../../support/freeze.ts';
import type { Link, LinkState } from './link.ts';
import type { FaultyPlatform } from './platform.ts';
import { COPIES, SERVERS, type Role, type Trouble } from './plan.ts';

/** What ends the trouble, or why it cannot be made here. */
type Made = { end(): void } | { skipped: string };

const over: Made = { end: () => {} };

export interface Troublemaker {
  make(trouble: Trouble): Promise<Made>;
  /** Ends all that may still be left, whoever made it. */
  healAll(): void;
}

export function createTroublemaker(platform: FaultyPlatform): Troublemaker {
  /** Of several troubles of one link, the one that was made last counts until it ends. */
  const current = new Map<Link, object>();
  const limits = new Map<number, string>();
  const disturb = (links: Link[], state: LinkState): Made => {
    const token = {};
    for (const link of links) {
      current.set(link, token);
      link.set(state);
    }
    return {
      end() {
        for (const link of links) if (current.get(link) === token) link.set({ kind: 'open' });
      },
    };
  };
  const make = async (trouble: Trouble): Promise<Made> => {
    switch (trouble.kind) {
      case 'kill':
        for (const role of trouble.roles) send(platform, role, 'SIGKILL');
        return over;
      case 'stop':
        for (const role of trouble.roles) send(platform, role, role === 'PostgreSQL' ? 'SIGINT' : 'SIGTERM');
        return over;
      case 'freeze':
        return frozen(platform, trouble.roles);
      case 'slow':
      case 'cut':
      case 'silent': {
        const links = trouble.copies.map((copy) => platform.link(copy, trouble.server));
        return disturb(links, trouble);
      }
      case 'terminate':
        return terminate(platform.databaseUrl, trouble.share);
      case 'full disk': {
        const disk = platform.disks[trouble.disk];
        if (disk.hindrance !== undefined) return { skipped: disk.hindrance };
        disk.fill();
        return { end: () => disk.free() };
      }
      case 'few descriptors':
        return limitDescriptors(limits, platform.pidOf(trouble.role), trouble.spare);
      case 'clock':
        platform.setClock(trouble.copy, trouble.skewMs);
        return { end: () => platform.setClock(trouble.copy, 0) };
    }
  };
  return {
    make,
    healAll() {
      for (const copy of COPIES) {
        for (const server of SERVERS) platform.link(copy, server).set({ kind: 'open' });
        platform.setClock(copy, 0);
      }
      for (const role of [...COPIES, ...SERVERS]) send(platform, role, 'SIGCONT');
      for (const [pid, soft] of limits) prlimit(pid, soft);
      for (const disk of Object.values(platform.disks)) if (disk.hindrance === undefined) disk.free();
    },
  };
}

function send(platform: FaultyPlatform, role: Role, name: NodeJS.Signals): void {
  const pid = platform.pidOf(role);
  if (pid !== undefined) signal(pid, name);
}

function frozen(platform: FaultyPlatform, roles: readonly Role[]): Made {
  return { end: freeze(roles.flatMap((role) => platform.pidOf(role) ?? [])) };
}

async function terminate(databaseUrl: string, share: number): Promise<Made> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 3_000,
    query_timeout: 5_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and random() < $1`,
      [share],
    );
    return over;
  } catch (error) {
    return { skipped: `PostgreSQL is away (${error instanceof Error ? error.message : String(error)})` };
  } finally {
    await client.end().catch(() => {});
  }
}

/** The limit is one of numbers: a process may have as many descriptors as fit below it. */
function limitDescriptors(limits: Map<number, string>, pid: number | undefined, spare: number): Made {
  if (pid === undefined) return { skipped: 'it does not run' };
  let open: number[];
  let soft: string | undefined;
  try {
    open = readdirSync(`/proc/${pid}/fd`).map(Number);
    soft = /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1];
  } catch {
    return { skipped: 'it does not run' };
  }
  if (soft === undefined || !prlimit(pid, String(Math.max(...open) + 1 + spare)))
    return { skipped: 'there is no prlimit' };
  if (!limits.has(pid)) limits.set(pid, soft);
  const former = limits.get(pid) ?? soft;
  return { end: () => void prlimit(pid, former) };
}

function prlimit(pid: number, soft: string): boolean {
  return spawnSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]).status === 0;
}
