/**
 * Fetches peers by the ordinary clients of npm, PyPI and Maven, once, into the user's cache. Errors say why a
 * peer cannot run here.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../support/brokers/broker-process.ts';

const FETCH_MS = 600_000;
const JAVA_FOLDERS = '/usr/lib/jvm';

/** @returns the folder with `node_modules` */
export function fetchFromNpm(name: string, packages: readonly string[]): string {
  return once(name, (folder) => {
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    const how = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
    run('npm', ['install', ...how, ...packages]);
  });
}

/** @returns the Python that has the packages */
export function fetchFromPypi(name: string, packages: readonly string[]): string {
  const folder = once(name, (into) => {
    run('python3', ['-m', 'venv', into]);
    run(join(into, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...packages]);
  });
  return join(folder, 'bin/python');
}

/** `artifact`: group:artifact:version:type:classifier. @returns the path of the file */
export function fetchFromMaven(name: string, artifact: string): string {
  const folder = once(name, (into) => {
    const where = [`-Dmaven.repo.local=${join(into, 'repository')}`, '-Dtransitive=false'];
    run('mvn', ['-q', '-B', 'dependency:get', `-Dartifact=${artifact}`, ...where]);
  });
  const [group = '', id = '', version = '', type = '', classifier = ''] = artifact.split(':');
  const parts = [...group.split('.'), id, version, `${id}-${version}-${classifier}.${type}`];
  return join(folder, 'repository', ...parts);
}

/** The newest Java that is installed, if it is at least `version`. */
export function javaFrom(version: number): string {
  const installed = existsSync(JAVA_FOLDERS) ? readdirSync(JAVA_FOLDERS) : [];
  const candidates = ['java', ...installed.map((folder) => join(JAVA_FOLDERS, folder, 'bin/java'))];
  const found = candidates
    .map((program) => ({ program, version: versionOf(program) }))
    .toSorted((a, b) => b.version - a.version)[0];
  if (found && found.version >= version) return found.program;
  throw new Error(`it needs Java ${version}, and the newest here is ${found?.version ?? 0}`);
}

function versionOf(program: string): number {
  const { stderr } = spawnSync(program, ['-version'], { encoding: 'utf8' });
  return Number(/version "(\d+)/.exec(stderr ?? '')?.[1] ?? 0);
}

/** A folder of the cache, made again unless it was finished. */
function once(name: string, make: (folder: string) => void): string {
  const folder = cacheFolder(join('peers', name));
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.stderr.write(`fetching ${name}\n`);
  make(folder);
  writeFileSync(ready, '');
  return folder;
}

function run(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { encoding: 'utf8', timeout: FETCH_MS, stdio: 'pipe' });
  } catch (error) {
    const { stderr = '', message = '' } = error as { stderr?: string; message?: string };
    const lines = (stderr.trim() || message).split('\n').filter((line) => line !== '');
    throw new Error(`${program} failed: ${(lines.at(-1) ?? '').slice(0, 200)}`);
  }
}
