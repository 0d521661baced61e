/**
 * What a test may expect of a machine that it shares: two workers of jest, PostgreSQL, Temporal and whatever
 * else runs. Times on the clock say how busy the machine is, so tests of effort measure the processor.
 */
import { connect } from 'node:net';
import { availableParallelism, loadavg } from 'node:os';
import { choosePort } from '../../dev/ports.ts';
import { claim } from './run-folder.ts';

/**
 * How long something may take here that takes `idleMs` at most on an idle machine: six times as long, and
 * longer still while more processes want to run than there are cores.
 */
export function allowedMs(idleMs: number): number {
  const wanting = Math.max(...loadavg()) / availableParallelism();
  return idleMs * Math.max(6, 3 * wanting);
}

/** Starts a clock of the processor time of all threads of this process, however busy the machine is. */
export function processorClock(): () => number {
  const begun = process.cpuUsage();
  return () => milliseconds(process.cpuUsage(begun));
}

/** The same for this thread alone: checks in threads of their own do not count. */
export function threadClock(): () => number {
  const begun = process.threadCpuUsage();
  return () => milliseconds(process.threadCpuUsage(begun));
}

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

/**
 * A port that no other file of this run gets, and no outgoing connection: it is below those that systems
 * hand out by themselves. A port that was free a moment ago may be taken when a program starts to listen.
 */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (!claim(`port-${port}`)) continue;
    const free = await choosePort({ what: 'a test', wanted: port }).catch(() => null);
    if (free !== null) return free;
  }
}

/** Whether a program listens on the port by now. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
