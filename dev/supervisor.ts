/** Keeps services running: one that ends without being asked to is started again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines } from './data-dir.ts';
import { endProcess, type Exit } from './os-process.ts';

export type Running = { pid: number; exited: Promise<Exit> };
export type StopStep = { signal: NodeJS.Signals; waitMs: number };

export type Service = {
  role: string;
  /** Starts the service and resolves when it works; the second argument is to be called as soon as there is a process. */
  start(attempt: number, spawned: (pid: number) => Promise<void>): Promise<Running>;
  stop: readonly StopStep[];
  /** Where its output is, for messages. */
  logFile: string;
};

export type Supervisor = {
  /** Starts a program that is to end by itself, and waits for that; throws if it fails. */
  complete(service: Service): Promise<void>;
  /** Starts a service and from then on keeps it running. Throws if it does not come up in three attempts. */
  run(service: Service): Promise<void>;
  /** Ends the services of these roles for good, at the same time. */
  stop(roles: readonly string[]): Promise<void>;
};

const firstPauseMs = 250;
const longestPauseMs = 10_000;
const stableMs = 30_000;
const startAttempts = 3;

export function createSupervisor(options: { say: (line: string) => void; remember: (role: string, pid: number) => Promise<void> }): Supervisor {
  const { say, remember } = options;
  const stopped = new Set<string>();
  const processes = new Map<string, { pid: number; steps: readonly StopStep[] }>();

  async function start(service: Service, attempt: number): Promise<Running> {
    return service.start(attempt, async (pid) => {
      processes.set(service.role, { pid, steps: service.stop });
      await remember(service.role, pid);
      if (stopped.has(service.role)) await endProcess(pid, service.stop);
    });
  }

  async function keep(service: Service, first: Running): Promise<void> {
    let running = first;
    let attempt = 0;
    for (;;) {
      const since = Date.now();
      const { code, signal } = await running.exited;
      if (stopped.has(service.role)) return;
      if (Date.now() - since > stableMs) attempt = 0;
      say(`${service.role} ended unexpectedly (${signal ?? `exit code ${code}`}); starting it again (log: ${service.logFile})`);
      for (;;) {
        await sleep(Math.min(firstPauseMs * 2 ** attempt, longestPauseMs));
        if (stopped.has(service.role)) return;
        attempt += 1;
        try {
          running = await start(service, attempt);
          say(`${service.role} is back`);
          break;
        } catch (error) {
          if (stopped.has(service.role)) return;
          say(`${service.role} did not start: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    }
  }

  return {
    async complete(service) {
      const { exited } = await start(service, 0);
      const { code, signal } = await exited;
      if (code !== 0) throw new Error(`${service.role} failed (${signal ?? `exit code ${code}`}). The end of ${service.logFile}:\n${lastLines(service.logFile, 20)}`);
    },
    async run(service) {
      for (let attempt = 0; ; attempt += 1) {
        if (stopped.has(service.role)) throw new Error('stopped');
        try {
          void keep(service, await start(service, attempt));
          return;
        } catch (error) {
          if (stopped.has(service.role) || attempt + 1 === startAttempts) throw error;
          await sleep(firstPauseMs);
        }
      }
    },
    async stop(roles) {
      for (const role of roles) stopped.add(role);
      await Promise.all(
        roles.map(async (role) => {
          const running = processes.get(role);
          if (running) await endProcess(running.pid, running.steps);
        }),
      );
    },
  };
}
