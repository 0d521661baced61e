/** A real Docker engine for one test file, with one image of busybox, without any network. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ContainerEngine {
  address: string;
  /** Ids of all containers. */
  containers(): string[];
  docker(...args: string[]): string;
  stop(): Promise<void>;
}

export const IMAGE = 'cadenza-test:1';

const PROGRAMS = ['sh', 'cat', 'echo', 'sleep', 'id', 'touch', 'wget', 'grep', 'head', 'tr', 'wc', 'yes'];
const START_MS = 40_000;

/** Or why there is none. */
export async function startContainerEngine(): Promise<ContainerEngine | string> {
  if (process.getuid?.() !== 0) return 'only root can start a container engine';
  for (const program of ['dockerd', 'docker', 'tar'])
    if (spawnSync(program, ['--version']).status !== 0) return `no ${program}`;
  const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((path) => spawnSync(path, ['true']).status === 0);
  if (busybox === undefined) return 'no busybox';
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-engine-'));
  const address = `unix://${folder}/engine.sock`;
  const log = openSync(join(folder, 'log'), 'w');
  const options = ['--iptables=false', '--ip6tables=false', '--bridge=none', `--host=${address}`];
  const folders = ['data-root', 'exec-root', 'pidfile'].map((name) => `--${name}=${join(folder, name)}`);
  const daemon = spawn('dockerd', [...options, ...folders], { stdio: ['ignore', log, log] });
  closeSync(log);
  const stop = async (): Promise<void> => {
    await end(daemon);
    rmSync(folder, { recursive: true, force: true });
  };
  const docker = (...args: string[]): string =>
    execFileSync('docker', ['-H', address, ...args], { encoding: 'utf8' }).trim();
  const hindrance = await begin(daemon, address, join(folder, 'log'));
  if (hindrance !== null) {
    await stop();
    return hindrance;
  }
  importImage(join(folder, 'root'), busybox, docker);
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
  return { address, docker, stop, containers: () => lines(docker('ps', '-aq', '--no-trunc')) };
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

async function end(daemon: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => daemon.once('exit', () => resolve()));
  if (daemon.exitCode !== null) return;
  daemon.kill('SIGTERM');
  await ended;
}

function lines(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}
