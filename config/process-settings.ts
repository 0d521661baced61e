/** What definitions may run as processes, and with which limits, from the settings. */
import type { ProcessPolicy } from '../contracts/process-policy.ts';
import type { Env } from './env.ts';

type Settings = Pick<Env, 'SCRIPTS' | 'SCRIPT_THREADS' | 'SCRIPT_MEMORY_MIB' | 'SCRIPT_SECONDS'>;

export function processSettings(env: Settings): {
  policy: ProcessPolicy;
  scripts: { threads: number; memoryMib: number; seconds: number };
} {
  return {
    policy: { scripts: env.SCRIPTS, containers: null },
    scripts: {
      threads: env.SCRIPT_THREADS,
      memoryMib: env.SCRIPT_MEMORY_MIB,
      seconds: env.SCRIPT_SECONDS,
    },
  };
}
