/**
 * What the installation lets definitions run as `run: script`, `run: container` and `run: shell`. The same
 * rules refuse a definition when it is saved and a process when it starts.
 */

export const PROCESS_KINDS = ['container', 'script', 'shell'] as const;
export type ProcessKind = (typeof PROCESS_KINDS)[number];

/** Orders the pull policies from the strictest. */
const PULL_POLICIES = ['never', 'ifNotPresent', 'always'] as const;
type PullPolicy = (typeof PULL_POLICIES)[number];

export interface ProcessPolicy {
  /** JavaScript in the sandbox of the worker. */
  scripts: boolean;
  /** Null: no container runs. */
  containers: ContainerPolicy | null;
}

interface ContainerPolicy {
  /** Names of images; `*` stands for any text. */
  images: readonly string[];
  /** The most that a definition may ask for. */
  pull: PullPolicy;
  /** Whether containers have a network, so that they can publish ports. */
  network: boolean;
  /** Ports of the engine's host, as `8000` or `8000-8100`. */
  ports: readonly string[];
  /** Named volumes and folders of the engine's host; `:rw` at the end allows writing. */
  volumes: readonly string[];
  /** What runs `run: shell`, and scripts in Python; null: they do not run. */
  shell_image: string | null;
  python_image: string | null;
  /** The most that a container gets; absent if workers of an earlier build have announced the policy. */
  limits?: { memory_mib: number; cpus: number; pids: number };
}

/** How containers run. */
export interface SandboxSettings {
  /** Address of the engine: `unix:///…`, `http://…` or `https://…`. */
  engine: string;
  /** What a guard before the engine asks for. */
  token?: string | undefined;
  /** The user of every container, as `uid:gid`. */
  user: string;
  /** A network of the engine; null: none. */
  network: string | null;
  memoryMib: number;
  cpus: number;
  pids: number;
  /** What keeps the folder for files, with `/bin/sh` and `sleep`; null: containers have none. */
  filesImage: string | null;
  /** The longest that a container runs. */
  seconds: number;
  /** Containers that one worker runs at once. */
  atOnce: number;
  /** The longest that an ended container is kept. */
  keepHours: number;
}

/** What one container may be given less of. */
export interface WantedLimits {
  user?: string;
  /** False: none, whatever the installation has. */
  network?: boolean;
  memoryMib?: number;
  cpus?: number;
  pids?: number;
}

const MIB = 1024 * 1024;
/** Engines round less to 0, which means no limit. */
export const LEAST_MEMORY_MIB = 8;
export const LEAST_CPUS = 0.01;

/** Less than the installation allows, never more, and never so little that it would be no limit. */
export function limited(settings: SandboxSettings, wanted: WantedLimits): SandboxSettings {
  const { user = settings.user, network = true } = wanted;
  const within = (given: number, least: number, most: number): number =>
    given > 0 ? Math.max(least, Math.min(given, most)) : most;
  const memoryMib = within(wanted.memoryMib ?? 0, LEAST_MEMORY_MIB, settings.memoryMib);
  return {
    ...settings,
    user,
    network: network ? settings.network : null,
    memoryMib: Math.round(memoryMib * MIB) / MIB,
    cpus: within(wanted.cpus ?? 0, LEAST_CPUS, settings.cpus),
    pids: Math.floor(within(wanted.pids ?? 0, 1, settings.pids)),
  };
}

/** What runs if the installation says nothing. */
export const DEFAULT_POLICY: ProcessPolicy = { scripts: true, containers: null };

/** `key` is the part of the configuration that is refused; empty for the whole. */
export interface Refusal {
  key: string;
  message: string;
}

/** Values with `${` are skipped, unless all are `known`: when the process starts. */
export function refusals(
  kind: ProcessKind,
  configured: Readonly<Record<string, unknown>>,
  { scripts, containers }: ProcessPolicy,
  known = false,
): Refusal[] {
  const isPython = kind === 'script' && configured['language'] === 'python';
  if (kind === 'script' && !isPython) return scripts ? [] : off('run: script is switched off here (SCRIPTS)');
  const what = isPython ? 'run: script in Python needs a container' : `run: ${kind} is switched off here`;
  if (!containers) return off(`${what}: no container engine is configured (SANDBOX_ENGINE)`);
  if (isPython)
    return containers.python_image === null
      ? off(`${what}, and no image for it is configured (SANDBOX_PYTHON_IMAGE)`)
      : [];
  if (kind === 'shell')
    return containers.shell_image === null
      ? off(`${what}: no image is configured (SANDBOX_SHELL_IMAGE)`)
      : [];
  return containerRefusals(configured, containers, known);
}

const PULLS: Readonly<Record<string, PullPolicy>> = {
  missing: 'ifNotPresent',
  always: 'always',
  never: 'never',
};

/** As the configuration of an agent of kind `docker` asks; undefined: as the installation does it. */
export function pullPolicyOf(pull: unknown): PullPolicy | undefined {
  return typeof pull === 'string' ? PULLS[pull] : undefined;
}

/** Why an agent of kind `docker` cannot run here. */
export function agentRefusals(
  { image, pull, network }: Readonly<Record<string, unknown>>,
  { containers }: ProcessPolicy,
): Refusal[] {
  if (!containers)
    return off('agents run in no container here: no container engine is configured (SANDBOX_ENGINE)');
  const found = containerRefusals({ image, pullPolicy: pullPolicyOf(pull) }, containers, true).map(
    (refusal) =>
      refusal.key === 'pullPolicy'
        ? { key: 'pull', message: `images are not pulled with pull: ${String(pull)} here (SANDBOX_PULL)` }
        : refusal,
  );
  if (network === true && !containers.network)
    found.push({ key: 'network', message: 'containers have no network here (SANDBOX_NETWORK)' });
  return found;
}

/** What an agent of kind `docker` asks for and does not get, because the installation gives less. */
export function agentExcesses(
  { memoryMib, cpus, pids }: { memoryMib: number | null; cpus: unknown; pids: unknown },
  { containers }: ProcessPolicy,
): Refusal[] {
  const { limits } = containers ?? {};
  if (!limits) return [];
  const found: Refusal[] = [];
  const compare = (key: string, wanted: unknown, most: number, setting: string): void => {
    if (typeof wanted === 'number' && wanted > most)
      found.push({ key, message: `is more than a container gets here: ${most} (${setting})` });
  };
  compare('memory', memoryMib, limits.memory_mib, 'SANDBOX_MEMORY_MIB');
  compare('cpus', cpus, limits.cpus, 'SANDBOX_CPUS');
  compare('pids', pids, limits.pids, 'SANDBOX_PIDS');
  return found;
}

function off(message: string): Refusal[] {
  return [{ key: '', message }];
}

function containerRefusals(
  { image, pullPolicy, ports, volumes }: Readonly<Record<string, unknown>>,
  policy: ContainerPolicy,
  known: boolean,
): Refusal[] {
  const found: Refusal[] = [];
  if ((known || isLiteral(image)) && !mayRun(image, policy))
    found.push({ key: 'image', message: `the image ${String(image)} may not run here (SANDBOX_IMAGES)` });
  const pull = PULL_POLICIES.findIndex((one) => one === pullPolicy);
  if (pull > PULL_POLICIES.indexOf(policy.pull))
    found.push({
      key: 'pullPolicy',
      message: `images are pulled at most with pullPolicy: ${policy.pull} here (SANDBOX_PULL)`,
    });
  for (const port of keysOf(ports)) {
    const message = `the port ${port} of the engine's host may not be published here`;
    if (!policy.network)
      found.push({ key: 'ports', message: `${message}: containers have no network (SANDBOX_NETWORK)` });
    else if (!policy.ports.some((range) => isWithin(range, port)))
      found.push({ key: 'ports', message: `${message} (SANDBOX_PORTS)` });
  }
  for (const volume of keysOf(volumes))
    if (!policy.volumes.some((allowed) => withoutMode(allowed) === volume))
      found.push({
        key: 'volumes',
        message: `the volume ${volume} may not be mounted here (SANDBOX_VOLUMES)`,
      });
  return found;
}

/** An image that is no text is refused: a number could be the id of any image of the engine. */
function mayRun(image: unknown, { images }: ContainerPolicy): boolean {
  return typeof image === 'string' && images.some((pattern) => matches(pattern, image));
}

function isLiteral(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('${');
}

function keysOf(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

function withoutMode(volume: string): string {
  return volume.replace(/:rw$/, '');
}

function isWithin(range: string, port: string): boolean {
  const [from = '', to = from] = range.split('-');
  return /^\d{1,5}$/.test(port) && Number(port) >= Number(from) && Number(port) <= Number(to);
}

/** `*` stands for any text. An image without a tag is `latest`. */
function matches(pattern: string, image: string): boolean {
  const parts = tagged(pattern).split('*');
  const name = tagged(image);
  const first = parts.shift() ?? '';
  const last = parts.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let from = first.length;
  for (const part of parts) {
    const at = name.indexOf(part, from);
    if (at < 0 || at + part.length > name.length - last.length) return false;
    from = at + part.length;
  }
  return true;
}

/** An image without a tag is `latest`. */
export function tagged(image: string): string {
  return /[:@*]/.test(image.slice(image.lastIndexOf('/') + 1)) ? image : `${image}:latest`;
}
