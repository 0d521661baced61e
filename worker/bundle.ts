import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  type BundleOptions as BundlerOptions,
  type Logger as TemporalLogger,
  type WorkflowBundle,
} from '@temporalio/worker';
import { failureConverterPath } from '../temporal/data-converter.ts';

const project = fileURLToPath(new URL('..', import.meta.url));
/** The bundle consists of these folders, and of packages at the versions of the lock file. */
const SOURCES = ['contracts', 'language', 'workflows'];

/**
 * Modules loaded once for all workflows of a worker, which then share them and their imports. They must be
 * pure and must not hold state of a workflow. All other modules are loaded for each workflow.
 */
const SHARED = [
  'contracts/activities.ts',
  'contracts/fault.ts',
  'contracts/invocation-key.ts',
  'contracts/log-texts.ts',
  'contracts/process-policy.ts',
  'contracts/run-events.ts',
  'contracts/tool-loop.ts',
  'contracts/uuid.ts',
  'workflows/stack-depth.ts',
  'language/definition/duration.ts',
  'language/definition/listening.ts',
  'language/definition/reads-secrets.ts',
  'language/definition/steps.ts',
  'language/expressions/index.ts',
  'language/schema/validate-json.ts',
];

type WebpackConfig = Parameters<NonNullable<BundlerOptions['webpackConfigHook']>>[0];

export interface BundleOptions {
  logger?: TemporalLogger;
  /**
   * A private folder for bundles. A bundle of the same sources is reused, which saves some seconds at each
   * start.
   */
  cacheDir?: string;
}

/**
 * Joins the modules that are loaded for each workflow into few, which halves the time that this takes, and
 * lets them call each other directly.
 */
function concatenated(config: WebpackConfig): WebpackConfig {
  const optimization = { providedExports: true, usedExports: true, concatenateModules: true };
  return { ...config, optimization: { ...config.optimization, ...optimization } };
}

/** What goes into the bundle. */
export const BUNDLED = {
  workflowsPath: join(project, 'workflows/index.ts'),
  workflowInterceptorModules: [join(project, 'workflows/interceptors.ts')],
  preloadModules: SHARED.map((file) => join(project, file)),
  failureConverterPath,
  webpackConfigHook: concatenated,
};

/** The workflows' code as the sandbox runs it. */
export async function bundleWorkflows({ logger, cacheDir }: BundleOptions = {}): Promise<WorkflowBundle> {
  const build = (): Promise<WorkflowBundle> =>
    bundleWorkflowCode({ ...BUNDLED, ...(logger ? { logger } : {}) });
  if (cacheDir === undefined) return build();
  const file = bundleFile(cacheDir);
  const cached = read(file);
  if (cached) return cached;
  const bundle = await build();
  keep(cacheDir, file, bundle);
  return bundle;
}

/** Where the bundle of these sources is kept. */
export function bundleFile(cacheDir: string): string {
  return join(cacheDir, `workflows-${digestOfSources()}.json`);
}

/** Of all that workflow code consists of: 32 hexadecimal digits. */
export function digestOfSources(): string {
  const hash = createHash('sha256').update(process.version);
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  for (const name of [
    ...files.toSorted(),
    relative(project, failureConverterPath),
    'worker/bundle.ts',
    'package-lock.json',
  ]) {
    try {
      hash.update(`\n${name}\n`).update(readFileSync(join(project, name)));
    } catch {
      // Without a lock file (a pruned image) the sources alone decide.
    }
  }
  return hash.digest('hex').slice(0, 32);
}

/** Null for a missing or incomplete file. */
function read(file: string): WorkflowBundle | null {
  try {
    const { code, checksum } = JSON.parse(readFileSync(file, 'utf8')) as { code: string; checksum: string };
    return sha256(code) === checksum ? { code } : null;
  } catch {
    return null;
  }
}

/**
 * Stores the bundle atomically and removes bundles of earlier versions. If the folder is not writable, the
 * next start only takes longer.
 */
function keep(cacheDir: string, file: string, { code }: WorkflowBundle): void {
  try {
    mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.${process.pid}`, JSON.stringify({ code, checksum: sha256(code) }), {
      mode: 0o600,
    });
    renameSync(`${file}.${process.pid}`, file);
    for (const name of readdirSync(cacheDir)) {
      if (/^workflows-[0-9a-f]+\.json$/.test(name) && !file.endsWith(name))
        rmSync(join(cacheDir, name), { force: true });
    }
  } catch {
    // The bundle is built again next time.
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
