/** PostgreSQL refuses to run as root: under which account it runs, and where that account finds binaries and data. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

export type PostgresAccount = {
  /** Folder with `postgres` and `initdb`. */
  binDir: string;
  /** Folder to keep the cluster in. */
  homeDir: string;
  /** The command line that runs a program under the account. */
  wrap(command: string, args: readonly string[]): { command: string; args: string[]; uid?: number; gid?: number };
};

export type RootMode = 'namespace' | 'user';

const run = promisify(execFile);

/**
 * A normal user runs it as it is. Root runs it in a user namespace of its own, where files stay root's and every folder can
 * be reached; where namespaces are refused, as an unprivileged user, in folders that this user can reach.
 */
export async function choosePostgresAccount(binDir: string, homeDir: string, rootMode?: RootMode): Promise<PostgresAccount> {
  if (process.getuid?.() !== 0) return { binDir, homeDir, wrap: (command, args) => ({ command, args: [...args] }) };
  const user = unprivilegedUser();
  const namespace = ['-U', `--map-user=${user.uid}`, `--map-group=${user.gid}`, '--'];
  const inNamespace = { binDir, homeDir, wrap: (command: string, args: readonly string[]) => ({ command: 'unshare', args: [...namespace, command, ...args] }) };
  if (rootMode !== 'user') {
    try {
      await run('unshare', [...namespace, join(binDir, 'postgres'), '--version']);
      return inNamespace;
    } catch (error) {
      if (rootMode === 'namespace') throw error;
    }
  }
  const reachableHome = (await canUse(homeDir, user, '-w')) ? homeDir : `/var/tmp/cadenza-${createHash('sha256').update(homeDir).digest('hex').slice(0, 16)}`;
  mkdirSync(reachableHome, { recursive: true, mode: 0o700 });
  chownSync(reachableHome, user.uid, user.gid);
  chmodSync(reachableHome, 0o700);
  return {
    binDir: (await canUse(join(binDir, 'postgres'), user, '-x')) ? binDir : copyBinaries(binDir),
    homeDir: reachableHome,
    wrap: (command, args) => ({ command, args: [...args], uid: user.uid, gid: user.gid }),
  };
}

type User = { uid: number; gid: number };

/** One with an entry in the user database: initdb asks for its own name. */
function unprivilegedUser(): User {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) })).filter(({ uid, gid }) => uid > 0 && gid > 0);
  return users.find(({ name }) => name === 'postgres') ?? users.find(({ name }) => name === 'nobody') ?? users[0] ?? { uid: 1000, gid: 1000 };
}

async function canUse(path: string, user: User, flag: '-w' | '-x'): Promise<boolean> {
  return run('/bin/sh', ['-c', `test ${flag} "$0"`, path], { ...user, cwd: '/' }).then(() => true, () => false);
}

/** The whole installation beside its libraries, where everybody can read it. */
function copyBinaries(binDir: string): string {
  const source = dirname(binDir);
  const target = `/var/tmp/cadenza-postgres-${createHash('sha256').update(source).digest('hex').slice(0, 16)}`;
  if (!existsSync(target)) {
    const half = `${target}.${process.pid}`;
    rmSync(half, { recursive: true, force: true });
    cpSync(source, half, { recursive: true, verbatimSymlinks: true });
    chmodSync(half, 0o755);
    renameSync(half, target);
  }
  return join(target, basename(binDir));
}
