/** How a container is made: the image with its isolation, as the engine's API has it. */
import { createHash } from 'node:crypto';
import type { SandboxSettings, WantedLimits } from '../../contracts/process-policy.ts';
import { traceEnvironment } from '../../tracing/context.ts';

/** One process in a container of its own. */
export interface SandboxRequest {
  /** The idempotency key: a repeat with the same key continues the container of the first call. */
  key: string;
  image: string;
  pull: 'never' | 'ifNotPresent' | 'always';
  /** Replaces the image's own. */
  entrypoint?: readonly string[];
  /** Follow the entry point, or what the image runs by itself. */
  arguments: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Null: none, not even an empty one. */
  stdin: string | null;
  /** Port of the engine's host → port of the container. */
  ports: Readonly<Record<string, string>>;
  mounts: readonly { source: string; target: string; writable: boolean }[];
  /** Go into the folder `/files/in`; null: the process has no folder for files. */
  files: readonly SandboxFile[] | null;
  /** Shown to operators in the labels. */
  title: string;
  /** Seconds that the container stays after its end. */
  keepSeconds: number;
  timeoutMs: number;
  outputBytes: number;
  /** Less than the installation allows. */
  limits?: WantedLimits;
  /** The streams that may not be cut. */
  whole: readonly ('stdout' | 'stderr')[];
}

export interface SandboxFile {
  /** Without folders, and different from the others'. */
  name: string;
  size: number;
  chunks(): Promise<AsyncIterable<Uint8Array>>;
}

const MIB = 1024 * 1024;
/** Of `/tmp`, the only folder besides `/files/out` that can be written to. It counts as memory. */
const TMP_MIB = 64;

export const LABEL = {
  installation: 'io.cadenza.installation',
  key: 'io.cadenza.invocation',
  title: 'io.cadenza.task',
  keepSeconds: 'io.cadenza.keep-seconds',
  /** Of a container that only keeps a folder for files. */
  folder: 'io.cadenza.folder',
} as const;

/** Equal for a repeated call, and different in every installation that uses the engine. */
export function containerName(installationId: string, key: string): string {
  const hash = createHash('sha256').update(`${installationId}\n${key}`).digest('hex');
  return `cadenza-${hash.slice(0, 40)}`;
}

/** The container that keeps the folder for files of the container of this name. */
export function keeperName(name: string): string {
  return `${name}-files`;
}

/** The body of `POST /containers/create`. `imageCommand`: what the image runs by itself. */
export function containerSpec(
  request: SandboxRequest,
  settings: SandboxSettings,
  installationId: string,
  imageCommand: readonly string[],
): Record<string, unknown> {
  const { image, entrypoint, env, stdin, ports, mounts } = request;
  const withStdin = stdin !== null;
  const published = settings.network === null ? [] : Object.entries(ports);
  const command = request.arguments.length === 0 ? [] : [...imageCommand, ...request.arguments];
  return {
    Image: image,
    ...(entrypoint === undefined ? {} : { Entrypoint: entrypoint }),
    ...(command.length === 0 ? {} : { Cmd: command }),
    Env: Object.entries({ ...traceEnvironment(), ...env }).map(([name, value]) => `${name}=${value}`),
    User: settings.user,
    Tty: false,
    OpenStdin: withStdin,
    StdinOnce: withStdin,
    AttachStdin: withStdin,
    NetworkDisabled: settings.network === null,
    ExposedPorts: Object.fromEntries(published.map(([, inside]) => [`${inside}/tcp`, {}])),
    Labels: {
      [LABEL.installation]: installationId,
      [LABEL.key]: request.key,
      [LABEL.title]: request.title,
      [LABEL.keepSeconds]: String(Math.min(request.keepSeconds, settings.keepHours * 3600)),
    },
    HostConfig: {
      NetworkMode: settings.network ?? 'none',
      PortBindings: Object.fromEntries(
        published.map(([outside, inside]) => [`${inside}/tcp`, [{ HostIp: '127.0.0.1', HostPort: outside }]]),
      ),
      Binds: mounts.map(({ source, target, writable }) => `${source}:${target}:${writable ? 'rw' : 'ro'}`),
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': `rw,nosuid,nodev,size=${TMP_MIB}m` },
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: settings.memoryMib * MIB,
      MemorySwap: settings.memoryMib * MIB,
      NanoCpus: Math.round(settings.cpus * 1e9),
      PidsLimit: settings.pids,
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      ...(request.files === null
        ? {}
        : { VolumesFrom: [keeperName(containerName(installationId, request.key))] }),
      LogConfig: { Type: 'json-file', Config: { 'max-size': '64m', 'max-file': '1' } },
    },
  };
}
