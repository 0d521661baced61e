/**
 * PostgreSQL refuses to run as root. This module chooses the account it runs under, and where that account
 * finds the binaries and the data.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

export type PostgresAccount = {
  /** Folder that contains `postgres` and `initdb`. */
  binDir: string;
  /** Folder for the cluster. */
  homeDir: string;
  /** Command line that runs a program under the account. */
  wrap(
    command: string,
    args: readonly string[],
  ): { command: string; args: string[]; uid?: number; gid?: number };
};

export type RootMode = 'namespace' | 'user';

const run = promisify(execFile);

/**
 * A normal user runs PostgreSQL directly. Root runs it in a user namespace, where files still belong to root
 * and all folders are accessible. If namespaces are not permitted, root runs it as an unprivileged user, in
 * folders that this user can access.
 */
export async function choosePostgresAccount(
  binDir: string,
  homeDir: string,
  rootMode?: RootMode,
): Promise<PostgresAccount> {
  if (process.getuid?.() !== 0)
    return { binDir, homeDir, wrap: (command, args) => ({ command, args: [...args] }) };
  const user = unprivilegedUser();
  const namespace = ['-U', `--map-user=${user.uid}`, `--map-group=${user.gid}`, '--'];
  const inNamespace = {
    binDir,
    homeDir,
    wrap: (command: string, args: readonly string[]) => ({
      command: 'unshare',
      args: [...namespace, command, ...args],
    }),
  };
  if (rootMode !== 'user') {
    try {
      await run('unshare', [...namespace, join(binDir, 'postgres'), '--version']);
      return inNamespace;
    } catch (error) {
      if (rootMode === 'namespace') throw error;
    }
  }
  const reachableHome = (await canUse(homeDir, user, '-w'))
    ? homeDir
    : `/var/tmp/cadenza-${createHash('sha256').update(homeDir).digest('hex').slice(0, 16)}`;
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

/** A user with an entry in /etc/passwd, because initdb looks up its own name. */
function unprivilegedUser(): User {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => uid > 0 && gid > 0);
  return (
    users.find(({ name }) => name === 'postgres') ??
    users.find(({ name }) => name === 'nobody') ??
    users[0] ?? { uid: 1000, gid: 1000 }
  );
}

async function canUse(path: string, user: User, flag: '-w' | '-x'): Promise<boolean> {
  return run('/bin/sh', ['-c', `test ${flag} "$0"`, path], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/** Copies the whole installation, with its libraries, to a place that everybody can read. */
function copyBinaries(binDir: string): string {
  const source = dirname(binDir);
  const hash = createHash('sha256').update(source).digest('hex').slice(0, 16);
  const target = `/var/tmp/cadenza-postgresql-${hash}`;
  if (!existsSync(target)) {
    const partial = `${target}.${process.pid}`;
    rmSync(partial, { recursive: true, force: true });
    cpSync(source, partial, { recursive: true, verbatimSymlinks: true });
    for (const path of ['.', ...readdirSync(partial, { encoding: 'utf8', recursive: true })])
      letEverybodyRead(join(partial, path));
    renameSync(partial, target);
  }
  return join(target, basename(binDir));
}

/** Made with a strict `umask`, an installation is for its owner only. */
function letEverybodyRead(path: string): void {
  const entry = lstatSync(path);
  if (entry.isSymbolicLink()) return;
  const mode = entry.mode & 0o777;
  chmodSync(path, mode | 0o444 | (mode & 0o100 ? 0o111 : 0));
}
