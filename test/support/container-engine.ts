/** A real Docker engine for one test file, with one image of busybox, without any network. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ContainerEngine {
  address: string;
  /** Ids of all containers. */
  containers(): string[];
  docker(...args: string[]): string;
  /** `kill -9`, and another in its place on the same data. */
  restart(): Promise<void>;
  /** Bytes of all that the engine keeps: images, logs, containers. */
  bytesKept(): number;
  /** Whether there is an image with Python, made of this machine's. */
  hasPython: boolean;
  stop(): Promise<void>;
}

export const IMAGE = 'cadenza-test:1';
export const PYTHON_IMAGE = 'cadenza-python:1';

const PROGRAMS =
  'sh cat echo sleep id touch wget grep head tr wc yes ls ln mkdir printf dd truncate true'.split(' ');
const START_MS = 40_000;

/**
 * Or why there is none. With `own` the networks that it makes are apart from the machine's: a change of
 * those makes every Chromium of other tests break its requests off (`ERR_NETWORK_CHANGED`).
 */
export async function startContainerEngine(network: 'own' | 'machine'): Promise<ContainerEngine | string> {
  if (process.getuid?.() !== 0) return 'only root can start a container engine';
  for (const program of ['dockerd', 'docker', 'tar', 'unshare'])
    if (spawnSync(program, ['--version']).status !== 0) return `no ${program}`;
  const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((path) => spawnSync(path, ['true']).status === 0);
  if (busybox === undefined) return 'no busybox';
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-engine-'));
  const address = `unix://${folder}/engine.sock`;
  const log = openSync(join(folder, 'log'), 'w');
  const options = ['--iptables=false', '--ip6tables=false', '--bridge=none', `--host=${address}`];
  const folders = ['data-root', 'exec-root', 'pidfile'].map((name) => `--${name}=${join(folder, name)}`);
  const [command, ...before] = network === 'own' ? ['unshare', '--net', 'dockerd'] : ['dockerd'];
  const start = (): ChildProcess =>
    spawn(command, [...before, ...options, ...folders], { stdio: ['ignore', log, log] });
  let daemon = start();
  const stop = async (): Promise<void> => {
    await end(daemon, 'SIGTERM');
    closeSync(log);
    // One that was killed leaves its mount, and one that had containers in the host's network another.
    for (const mount of ['data-root', 'exec-root/netns/default']) spawnSync('umount', [join(folder, mount)]);
    rmSync(folder, { recursive: true, force: true });
  };
  const docker = (...args: string[]): string =>
    execFileSync('docker', ['-H', address, ...args], { encoding: 'utf8' }).trim();
  const hindrance = await begin(daemon, address, join(folder, 'log'));
  if (hindrance !== null) {
    await stop();
    return hindrance;
  }
  const restart = async (): Promise<void> => {
    await end(daemon, 'SIGKILL');
    // Otherwise the next one takes what is left of its containerd for one that runs.
    for (const left of ['pidfile', 'exec-root/containerd/containerd.pid'])
      rmSync(join(folder, left), { force: true });
    daemon = start();
    const problem = await begin(daemon, address, join(folder, 'log'));
    if (problem !== null) throw new Error(problem);
  };
  const bytesKept = (): number =>
    Number.parseInt(execFileSync('du', ['-sb', join(folder, 'data-root')], { encoding: 'utf8' }));
  importImage(join(folder, 'root'), busybox, docker);
  const hasPython = importPython(join(folder, 'python'), docker);
  const probe = spawnSync('docker', [
    '-H',
    address,
    'run',
    '--rm',
    '--network=none',
    IMAGE,
    '/bin/echo',
    'runs',
  ]);
  if (probe.status !== 0) {
    await stop();
    return `the engine runs no container: ${String(probe.stderr).slice(0, 300)}`;
  }
  const containers = (): string[] => lines(docker('ps', '-aq', '--no-trunc'));
  return { address, docker, stop, restart, bytesKept, hasPython, containers };
}

async function begin(daemon: ChildProcess, address: string, log: string): Promise<string | null> {
  const deadline = Date.now() + START_MS;
  while (spawnSync('docker', ['-H', address, 'version']).status !== 0) {
    if (daemon.exitCode !== null || Date.now() > deadline)
      return `dockerd does not start: ${readFileSync(log, 'utf8').trim().split('\n').at(-1)?.slice(0, 300)}`;
    await sleep(200);
  }
  return null;
}

function importImage(root: string, busybox: string, docker: (...args: string[]) => string): void {
  mkdirSync(join(root, 'bin'), { recursive: true });
  cpSync(busybox, join(root, 'bin/busybox'));
  for (const program of PROGRAMS) symlinkSync('busybox', join(root, 'bin', program));
  const archive = `${root}.tar`;
  execFileSync('tar', ['-C', root, '-cf', archive, '.']);
  docker('import', '--change', 'CMD ["/bin/echo", "by", "itself"]', archive, IMAGE);
}

/** This machine's Python with its own modules. @returns false if there is none */
function importPython(root: string, docker: (...args: string[]) => string): boolean {
  const asked = 'import sys, sysconfig; print(sys.executable); print(sysconfig.get_path("stdlib"))';
  const found = spawnSync('python3', ['-c', asked], { encoding: 'utf8' });
  const [program, modules] = found.status === 0 ? lines(found.stdout.trim()) : [];
  if (program === undefined || modules === undefined) return false;
  const libraries = [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(/g)];
  for (const path of [program, modules, ...libraries.map(([, library = '']) => library)]) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    cpSync(path, join(root, path), { recursive: true, dereference: true, filter: isModule });
  }
  mkdirSync(join(root, 'bin'), { recursive: true });
  if (!existsSync(join(root, 'bin/python3'))) symlinkSync(program, join(root, 'bin/python3'));
  execFileSync('tar', ['-C', root, '-cf', `${root}.tar`, '.']);
  docker('import', `${root}.tar`, PYTHON_IMAGE);
  return true;
}

/** Not the tests and packages, which are large, nor links that lead nowhere. */
function isModule(path: string): boolean {
  return (
    existsSync(path) && !/\/(?:test|dist-packages|site-packages|__pycache__|idlelib|config-[^/]*)$/.test(path)
  );
}

async function end(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = new Promise<void>((resolve) => daemon.once('exit', () => resolve()));
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  daemon.kill(signal);
  await ended;
}

function lines(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}
