/** How runs are shown and followed. */
import {
  ApiError,
  isPartial,
  type LogEntry,
  type Run,
  type RunStats,
  type RunSummary,
  type RunTask,
} from '../../client/index.ts';
import type { Cli } from './cli.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { LiveText } from './live-text.ts';
import type { View } from './table.ts';
import { ago, lastPart, oneLine, styleOf, type Paint } from './text.ts';

type ListedRun = Pick<
  RunSummary,
  'id' | 'workflow_name' | 'status' | 'created_at' | 'started_at' | 'finished_at' | 'waiting_on'
>;

const ENDED: readonly Run['status'][] = ['completed', 'faulted', 'cancelled'];
export const hasEnded = ({ status }: Pick<Run, 'status'>): boolean => ENDED.includes(status);

export const runView: View<ListedRun> = {
  columns: [
    ['id', ({ id }) => id],
    ['status', ({ status }) => status],
    ['started', (run) => ago(run.created_at)],
    ['took', (run) => duration(run.started_at, run.finished_at)],
    ['workflow', (run) => run.workflow_name],
    [
      'waits for',
      ({ waiting_on: waits = [] }) => waits.map(({ kind, task }) => `${kind} in ${lastPart(task)}`),
    ],
  ],
  name: ({ id }) => id,
  none: 'No runs.',
};

export const statsView: View<RunStats['series'][number]['buckets'][number]> = {
  columns: [
    ['from', ({ at }) => at],
    ['started', ({ started }) => started],
    ['completed', ({ completed }) => completed],
    ['faulted', ({ faulted }) => faulted],
    ['cancelled', ({ cancelled }) => cancelled],
    ['mean', ({ completed, total_ms: ms }) => (completed === 0 ? '' : lengthText(ms / completed))],
    ['slowest', ({ slowest_ms: ms }) => (ms === null ? '' : lengthText(ms))],
  ],
  name: ({ at }) => at,
  none: 'No runs.',
};

export const runDetailView: View<Run> = {
  columns: runView.columns,
  name: ({ id }) => id,
  lines: (run, paint) => [
    ...headLines(run, paint),
    ...treeLines(run.tasks, paint),
    ...(run.error === null ? [] : [paint('red', `error: ${oneLine(errorText(run.error))}`)]),
    ...(run.output === null || run.output === undefined
      ? []
      : [`output: ${oneLine(JSON.stringify(run.output))}`]),
    ...run.waiting_on.flatMap(({ kind, id }) =>
      kind === 'human' && id !== undefined
        ? [`waits for a decision: cadenza task decide ${oneLine(id)} …`]
        : [],
    ),
  ],
};

function headLines(run: Run, paint: Paint): string[] {
  const took = duration(run.started_at, run.finished_at);
  const name = paint('bold', oneLine(run.workflow_name));
  return [`${name}  ${colored(run.status, paint)}  ${took}`.trimEnd(), paint('dim', run.id)];
}

export const errorText = ({ title, detail, type }: NonNullable<Run['error']>): string =>
  [title ?? type, detail].filter((part) => part !== undefined).join(': ');

interface Branch {
  task: RunTask;
  visits: number;
  inner: Branch[];
}

/** The tasks as a tree: a task is inside of the one whose pointer begins its own. */
export function treeLines(tasks: readonly RunTask[], paint: Paint): string[] {
  const branches = new Map<string, Branch>();
  const roots: Branch[] = [];
  for (const task of tasks) {
    const known = branches.get(task.reference);
    if (known) {
      known.task = task;
      known.visits += 1;
      continue;
    }
    const branch = { task, visits: 1, inner: [] };
    branches.set(task.reference, branch);
    (parentOf(task.reference, branches)?.inner ?? roots).push(branch);
  }
  return roots.flatMap((branch, index) => branchLines(branch, '', index === roots.length - 1, paint));
}

function parentOf(reference: string, branches: ReadonlyMap<string, Branch>): Branch | undefined {
  for (let at = reference.lastIndexOf('/'); at > 0; at = reference.lastIndexOf('/', at - 1)) {
    const found = branches.get(reference.slice(0, at));
    if (found) return found;
  }
  return undefined;
}

function branchLines(
  { task, visits, inner }: Branch,
  indent: string,
  isLast: boolean,
  paint: Paint,
): string[] {
  const parts = [
    `${indent}${isLast ? '└─' : '├─'} ${oneLine(task.name)}`,
    paint('dim', oneLine(task.type)),
    colored(task.status, paint),
    duration(task.started_at, task.finished_at),
    ...(visits > 1 ? [`×${visits}`] : []),
    ...(task.error === undefined ? [] : [paint('red', oneLine(errorText(task.error)))]),
  ];
  const deeper = `${indent}${isLast ? '   ' : '│  '}`;
  return [
    parts.filter((part) => part !== '').join('  '),
    ...inner.flatMap((branch, index) => branchLines(branch, deeper, index === inner.length - 1, paint)),
  ];
}

export function logLine(entry: LogEntry, paint: Paint): string {
  const { at, level, message } = entry;
  const text = oneLine(message);
  const style = styleOf(level);
  return `${paint('dim', at.slice(11, 19))} ${style === undefined ? text : paint(style, text)}`;
}

/** The most that the server waits in one request. */
const MAX_WAIT = 60;

/** Prints the events of a run until its end. @returns 0 if it completed, else 3 */
export async function followRun(
  cli: Cli,
  id: string,
  shows?: (entry: LogEntry) => boolean,
): Promise<ExitCode> {
  try {
    await printEvents(cli, id, { signal: cli.signal, shows });
  } catch (error) {
    // Its runner sees how it ends. A command for the log alone has nothing else to show.
    if (!(error instanceof ApiError) || error.code !== 'inside_hidden' || shows !== undefined) throw error;
    cli.say('You see the state of this run, not its log.');
    return sayEnd(cli, await endOf(cli, id));
  }
  return sayEnd(cli, await cli.client.call('getRun', { path: { id }, signal: cli.signal }));
}

/** Waits for the end of a run, at most until `deadline` in milliseconds since 1970. */
export async function endOf({ client, signal }: Cli, id: string, deadline = Infinity): Promise<Run> {
  for (;;) {
    const left = Math.max(0, Math.ceil((deadline - Date.now()) / 1_000));
    const headers = left > 0 ? { prefer: `wait=${Math.min(left, MAX_WAIT)}` } : {};
    const run = await client.call('getRun', { path: { id }, headers, signal });
    if (hasEnded(run) || Date.now() >= deadline) return run;
  }
}

interface EventOptions {
  /** Ends it before the run does. */
  signal: AbortSignal;
  /** Default: all, and what calls produce while they run. */
  shows?: ((entry: LogEntry) => boolean) | undefined;
}

export async function printEvents(cli: Cli, id: string, { signal, shows }: EventOptions): Promise<void> {
  let isLost = false;
  const onState = (state: 'open' | 'reconnecting'): void => {
    if (state === 'reconnecting' && !isLost) cli.say('The connection is lost; trying again …');
    isLost = state === 'reconnecting';
  };
  const live = new LiveText(cli.out);
  for await (const { data } of cli.client.events('streamRunEvents', { path: { id }, signal, onState })) {
    if (isPartial(data)) {
      if (shows === undefined) await live.print(data);
    } else if (shows?.(data) !== false) {
      live.endLine();
      await cli.out.event(data, () => logLine(data, cli.out.paint));
    }
  }
  live.endLine();
}

export function sayEnd(cli: Cli, run: Run): ExitCode {
  const error = run.error === null ? '' : `: ${oneLine(errorText(run.error))}`;
  cli.say(`Run ${run.id} ${run.status}${error}`);
  return run.status === 'completed' ? EXIT.good : EXIT.no;
}

const colored = (status: string, paint: Paint): string => {
  const style = styleOf(status);
  return style === undefined ? status : paint(style, status);
};

export function duration(from: string | null, to: string | null, now = Date.now()): string {
  if (from === null) return '';
  return lengthText((to === null ? now : Date.parse(to)) - Date.parse(from));
}

export function lengthText(ms: number): string {
  if (ms < 10_000) return `${(Math.max(ms, 0) / 1_000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3_600)}h`;
}
