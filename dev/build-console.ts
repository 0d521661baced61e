/** Builds the console into `web/dist` if its sources have changed: `npm run build:console`. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'web/dist');
/** Everything that the bundle depends on. */
const SOURCES = [
  'web/{index.html,vite.config.ts,tsconfig.json}',
  'web/{public,src}/**/*',
  'client/*.ts',
  'contracts/**/*.ts',
  'language/**/*.ts',
  'package-lock.json',
];

/** @returns whether it was built; false if `web/dist` is up to date */
export async function buildConsole(): Promise<boolean> {
  const hash = hashOfSources();
  const mark = join(dist, '.sources');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) return false;
  // Loaded only where it is needed: production has no development dependencies.
  const { build } = await import('vite');
  // Replaced at once, so that the API never serves half of a build.
  const fresh = join(root, `web/.dist-${process.pid}`);
  try {
    await build({
      configFile: join(root, 'web/vite.config.ts'),
      logLevel: 'error',
      build: { outDir: fresh, emptyOutDir: true },
    });
    writeFileSync(join(fresh, '.sources'), hash);
    replace(fresh);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return true;
}

function replace(fresh: string): void {
  for (let attempt = 1; ; attempt += 1) {
    rmSync(dist, { recursive: true, force: true });
    try {
      renameSync(fresh, dist);
      return;
    } catch (error) {
      // Another build was quicker.
      if (attempt === 3) throw error;
    }
  }
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const file of globSync(SOURCES, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted())
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
}

if (import.meta.main) {
  const started = Date.now();
  const built = await buildConsole();
  const seconds = ((Date.now() - started) / 1_000).toFixed(1);
  process.stdout.write(built ? `built the console in ${seconds} s\n` : 'the console is up to date\n');
}
