/** What the brokers of tests share: a process in a folder of its own, a certificate, the cache. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { listens } from '../machine.ts';

const START_MS = 60_000;

export interface BrokerProcess {
  stop(): Promise<void>;
}

export interface Certificate {
  /** Paths: the certificate, its key, and both in one file. */
  certificate: string;
  key: string;
  both: string;
}

export function cacheFolder(name: string): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cadenza', name);
}

export function brokerFolder(): string {
  return mkdtempSync(join(tmpdir(), 'cadenza-broker-'));
}

export function programOf(...paths: string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}

/** Started, and listening on all ports; throws with its last words if it ends before. */
export async function startBroker(
  program: string,
  args: string[],
  {
    ports,
    env = {},
    cwd,
    startMs = START_MS,
  }: { ports: number[]; env?: Record<string, string>; cwd?: string; startMs?: number },
): Promise<BrokerProcess> {
  // Scripts start the brokers themselves, so the whole group has to end.
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-20_000)));
  const deadline = Date.now() + startMs;
  for (const port of ports) {
    while (!(await listens(port))) {
      if (child.exitCode !== null || Date.now() > deadline) {
        await stop(child);
        throw new Error(`${program} does not start: ${log.slice(-2_000)}`);
      }
      await sleep(50);
    }
  }
  return { stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (child.exitCode !== null || child.signalCode !== null || pid === undefined) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  process.kill(-pid, 'SIGKILL');
  await ended;
  // Helpers of a broker that have a group of their own end a little later.
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
}

/** A certificate for `localhost` that signs itself. This process trusts it from now on. */
export function trustedCertificate(folder: string): Certificate {
  const made = selfSignedCertificate(folder);
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(made.certificate, 'utf8')]);
  return made;
}

/** A certificate for `localhost` that signs itself. */
export function selfSignedCertificate(folder: string): Certificate {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  const both = join(folder, 'both.pem');
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-nodes', '-days', '2', ...curve, ...files, ...subject], {
    stdio: 'ignore',
  });
  execFileSync('sh', ['-c', 'cat "$0" "$1" > "$2"', key, certificate, both]);
  return { certificate, key, both };
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
