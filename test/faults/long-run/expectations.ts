/** Which ends of processes the faults explain. */
import type { Evidence } from './evidence.ts';
import type { Fault, Role } from './plan.ts';
import type { ExitNote } from './platform.ts';

/** A copy drains for so long. */
const STOP_MS = 40_000;
const KILL_MS = 5_000;
/** Until a process listens to signals, on a busy machine. */
const STARTING_MS = 60_000;
/** A server that lacked room or descriptors may end later. */
const STARVED_MS = 60_000;

interface Expected {
  role: Role;
  from: number;
  to: number;
  /** An orderly stop, which ends with 0. */
  orderly: boolean;
}

export interface Expectations {
  /** Before the fault is made. */
  expect(fault: Fault): void;
  note(exit: ExitNote): void;
  exits(): Evidence['exits'];
}

export function createExpectations(): Expectations {
  const expected: Expected[] = [];
  const exits: ExitNote[] = [];
  return {
    expect({ trouble, forMs }) {
      const from = Date.now();
      const add = (roles: readonly Role[], ms: number, orderly = false): void => {
        for (const role of roles) expected.push({ role, from, to: from + forMs + ms, orderly });
      };
      if (trouble.kind === 'kill') add(trouble.roles, KILL_MS);
      if (trouble.kind === 'stop') add(trouble.roles, STOP_MS, true);
      if (trouble.kind === 'full disk') add(['PostgreSQL'], STARVED_MS);
      if (trouble.kind === 'few descriptors' && trouble.role === 'Temporal') add(['Temporal'], STARVED_MS);
    },
    note: (exit) => void exits.push(exit),
    exits: () =>
      exits.map((exit) => ({
        ...exit,
        expected: expected.some(
          ({ role, from, to, orderly }) =>
            role === exit.role &&
            from <= exit.at &&
            exit.at <= to &&
            (!orderly || role === 'PostgreSQL' || role === 'Temporal' || isOrderly(exit)),
        ),
      })),
  };
}

/** A process that has just begun does not listen to the signal yet, which then ends it. */
function isOrderly({ code, signal, livedMs }: ExitNote): boolean {
  return code === 0 || (signal === 'SIGTERM' && livedMs < STARTING_MS);
}
