/** What definitions may run as processes, and with which limits, from the settings. */
import type { ProcessPolicy, SandboxSettings } from '../contracts/process-policy.ts';
import type { Env } from './env.ts';

export interface ProcessSettings<S = SandboxSettings | null> {
  policy: ProcessPolicy;
  scripts: { threads: number; memoryMib: number; seconds: number };
  /** Null: no engine. */
  sandbox: S;
}

export function processSettings(env: Env & { SANDBOX_ENGINE: string }): ProcessSettings<SandboxSettings>;
export function processSettings(env: Env): ProcessSettings;
export function processSettings(env: Env): ProcessSettings {
  const { SANDBOX_ENGINE: engine } = env;
  return {
    policy: { scripts: env.SCRIPTS, containers: engine === undefined ? null : containerPolicy(env) },
    scripts: {
      threads: env.SCRIPT_THREADS,
      memoryMib: env.SCRIPT_MEMORY_MIB,
      seconds: env.SCRIPT_SECONDS,
    },
    sandbox:
      engine === undefined
        ? null
        : {
            engine,
            token: env.SANDBOX_TOKEN,
            user: env.SANDBOX_USER,
            network: env.SANDBOX_NETWORK ?? null,
            memoryMib: env.SANDBOX_MEMORY_MIB,
            cpus: env.SANDBOX_CPUS,
            pids: env.SANDBOX_PIDS,
            filesImage: env.SANDBOX_SHELL_IMAGE ?? null,
            seconds: env.SANDBOX_SECONDS,
            atOnce: env.SANDBOX_CONCURRENCY,
            keepHours: env.SANDBOX_KEEP_HOURS,
          },
  };
}

function containerPolicy(env: Env): ProcessPolicy['containers'] {
  return {
    images: env.SANDBOX_IMAGES,
    pull: env.SANDBOX_PULL,
    network: env.SANDBOX_NETWORK !== undefined,
    ports: env.SANDBOX_PORTS,
    volumes: env.SANDBOX_VOLUMES,
    shell_image: env.SANDBOX_SHELL_IMAGE ?? null,
    python_image: env.SANDBOX_PYTHON_IMAGE ?? null,
    limits: { memory_mib: env.SANDBOX_MEMORY_MIB, cpus: env.SANDBOX_CPUS, pids: env.SANDBOX_PIDS },
  };
}
