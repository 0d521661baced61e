/** Keeps services running: restarts those that end unexpectedly. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines } from './data-dir.ts';
import { endProcess, type Exit } from './os-process.ts';

export type Running = { pid: number; exited: Promise<Exit> };
export type StopStep = { signal: NodeJS.Signals; waitMs: number };

export type Service = {
  role: string;
  /** Starts the service and resolves when it is up. Must call `spawned` as soon as the process exists. */
  start(attempt: number, spawned: (pid: number) => Promise<void>): Promise<Running>;
  stop: readonly StopStep[];
  /** Log file to mention in messages. */
  logFile: string;
};

export type Supervisor = {
  /** Runs a program to its end. @throws Error if it fails */
  complete(service: Service): Promise<void>;
  /** Starts a service and keeps it running. @throws Error if it does not start within three attempts */
  run(service: Service): Promise<void>;
  /** Permanently ends the services of these roles, in parallel. */
  stop(roles: readonly string[]): Promise<void>;
};

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A service that ran for this long has no failed attempts behind it. */
const STABLE_MS = 30_000;
const START_ATTEMPTS = 3;

export function createSupervisor(options: {
  print: (line: string) => void;
  remember: (role: string, pid: number) => Promise<void>;
}): Supervisor {
  const services = new Services(options.remember);
  return {
    complete: (service) => complete(services, service),
    async run(service) {
      const running = await startFirst(services, service);
      void keepRunning(services, service, running, options.print);
    },
    stop: (roles) => services.stop(roles),
  };
}

/** The processes of the services, and which services have been stopped. */
class Services {
  readonly #remember: (role: string, pid: number) => Promise<void>;
  readonly #stopped = new Set<string>();
  readonly #processes = new Map<string, { pid: number; steps: readonly StopStep[] }>();

  constructor(remember: (role: string, pid: number) => Promise<void>) {
    this.#remember = remember;
  }

  isStopped({ role }: Service): boolean {
    return this.#stopped.has(role);
  }

  start(service: Service, attempt: number): Promise<Running> {
    return service.start(attempt, async (pid) => {
      this.#processes.set(service.role, { pid, steps: service.stop });
      await this.#remember(service.role, pid);
      if (this.isStopped(service)) await endProcess(pid, service.stop);
    });
  }

  async stop(roles: readonly string[]): Promise<void> {
    for (const role of roles) this.#stopped.add(role);
    await Promise.all(
      roles.map(async (role) => {
        const running = this.#processes.get(role);
        if (running) await endProcess(running.pid, running.steps);
      }),
    );
  }
}

async function complete(services: Services, service: Service): Promise<void> {
  const { exited } = await services.start(service, 0);
  const exit = await exited;
  if (exit.code !== 0)
    throw new Error(
      `${service.role} failed (${reasonOf(exit)}). ` +
        `The end of ${service.logFile}:\n${lastLines(service.logFile, 20)}`,
    );
}

async function startFirst(services: Services, service: Service): Promise<Running> {
  for (let attempt = 0; ; attempt += 1) {
    if (services.isStopped(service)) throw new Error('stopped');
    try {
      return await services.start(service, attempt);
    } catch (error) {
      if (services.isStopped(service) || attempt + 1 === START_ATTEMPTS) throw error;
      await sleep(FIRST_PAUSE_MS);
    }
  }
}

async function keepRunning(
  services: Services,
  service: Service,
  first: Running,
  print: (line: string) => void,
): Promise<void> {
  let running = first;
  let attempt = 0;
  for (;;) {
    const startedAt = Date.now();
    const exit = await running.exited;
    if (services.isStopped(service)) return;
    if (Date.now() - startedAt > STABLE_MS) attempt = 0;
    print(`${service.role} ended unexpectedly (${reasonOf(exit)}); restarting it (log: ${service.logFile})`);
    for (let restarted = false; !restarted;) {
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS));
      if (services.isStopped(service)) return;
      attempt += 1;
      try {
        running = await services.start(service, attempt);
        restarted = true;
        print(`${service.role} is running again`);
      } catch (error) {
        if (services.isStopped(service)) return;
        print(`${service.role} did not start: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}

function reasonOf({ code, signal }: Exit): string {
  return signal ?? `exit code ${code}`;
}
