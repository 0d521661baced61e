/** Programs that are built from Go modules, once for each version, and kept in the user's cache. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Temporal's server takes five minutes of two processors without other work. */
const BUILD_MS = 20 * 60_000;
const run = promisify(execFile);

interface GoProgram {
  name: string;
  module: string;
  /** Folder of the main package in the module. */
  main: string;
  version: string;
  /** Build tags that leave out parts of the program. */
  tags?: string;
}

/** Where the program is, or will be. */
export function cachedProgram({ name, version }: Pick<GoProgram, 'name' | 'version'>): string {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cadenza');
  return join(cache, `${name}-${version}`);
}

/** @returns the program and the folder of its module, or why there is none */
export async function goProgram({
  name,
  module,
  main,
  version,
  tags = '',
}: GoProgram): Promise<{ program: string; source: string } | { missing: string }> {
  const program = cachedProgram({ name, version });
  try {
    const { stdout } = await run('go', ['mod', 'download', '-json', `${module}@${version}`], {
      timeout: BUILD_MS,
    });
    const { Dir: source } = JSON.parse(stdout) as { Dir: string };
    if (!existsSync(program)) await build(`${module}/${main}@${version}`, program, tags);
    return { program, source };
  } catch (error) {
    return { missing: `no ${name} ${version} from Go modules: ${String(error).split('\n')[0]}` };
  }
}

async function build(package_: string, program: string, tags: string): Promise<void> {
  mkdirSync(dirname(program), { recursive: true });
  const folder = mkdtempSync(`${program}-`);
  try {
    const env = { ...process.env, GOBIN: folder };
    await run('go', ['install', '-tags', tags, package_], { timeout: BUILD_MS, env });
    const [built = ''] = readdirSync(folder);
    renameSync(join(folder, built), program);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
