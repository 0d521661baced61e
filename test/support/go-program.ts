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
}

/** @returns the program and the folder of its module, or why there is none */
export async function goProgram({
  name,
  module,
  main,
  version,
}: GoProgram): Promise<{ program: string; source: string } | { missing: string }> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cadenza');
  const program = join(cache, `${name}-${version}`);
  try {
    const { stdout } = await run('go', ['mod', 'download', '-json', `${module}@${version}`], {
      timeout: BUILD_MS,
    });
    const { Dir: source } = JSON.parse(stdout) as { Dir: string };
    if (!existsSync(program)) await build(`${module}/${main}@${version}`, program);
    return { program, source };
  } catch (error) {
    return { missing: `no ${name} ${version} from Go modules: ${String(error).split('\n')[0]}` };
  }
}

async function build(package_: string, program: string): Promise<void> {
  mkdirSync(dirname(program), { recursive: true });
  const folder = mkdtempSync(`${program}-`);
  try {
    await run('go', ['install', package_], { timeout: BUILD_MS, env: { ...process.env, GOBIN: folder } });
    const [built = ''] = readdirSync(folder);
    renameSync(join(folder, built), program);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
