/**
 * Folds a run's log into the steps that the screen shows. The log is the only truth of the page, so timeline,
 * log and state cannot disagree; the fold of a part of the log is the run as it was then.
 */
import { isRecord } from '../../../../contracts/is-record.ts';
import { EVENT } from '../../../../contracts/run-events.ts';
import type { DslError, LogEntry } from '../../../../client/index.ts';

type StepStatus = 'running' | 'waiting' | 'completed' | 'faulted' | 'cancelled';

export interface Step {
  /** Reference and visit: unique in the run. */
  key: string;
  reference: string;
  visit: number;
  name: string;
  /** Such as `agent`, `human`, `fork`; a `wait` step counts as waiting from its start. */
  type: string;
  attempt: number;
  status: StepStatus;
  startMs: number;
  endMs: number | null;
  /** When a person was asked. */
  askedMs: number | null;
  error: DslError | null;
  /** Undefined if the log does not hold it. */
  input: unknown;
  output: unknown;
  /** Which of them are too large for the log. */
  omitted: readonly ('input' | 'output')[];
  usage: Readonly<Record<string, unknown>> | null;
  humanTaskId: string | null;
  childRunId: string | null;
  parent: string | null;
  depth: number;
  /** Indexes of the items of `call: map` that it belongs to, outermost first. */
  items: readonly number[];
}

export interface RunFold {
  /** Each after the step that holds it, in the order of their start. */
  steps: Step[];
  startMs: number | null;
  endMs: number | null;
  /** The status that the log shows; null before the first event. */
  status: 'pending' | 'running' | 'suspended' | 'cancelled' | 'faulted' | 'completed' | null;
}

const ENDS: Readonly<Record<string, StepStatus>> = {
  [EVENT.taskCompleted]: 'completed',
  [EVENT.taskFaulted]: 'faulted',
  [EVENT.taskCancelled]: 'cancelled',
};

const RUN_STATUS: Readonly<Record<string, NonNullable<RunFold['status']>>> = {
  [EVENT.runCreated]: 'pending',
  [EVENT.runStarted]: 'running',
  [EVENT.runSuspended]: 'suspended',
  [EVENT.runResumed]: 'running',
  [EVENT.runCancelled]: 'cancelled',
  [EVENT.runFaulted]: 'faulted',
  [EVENT.runCompleted]: 'completed',
};

/** Events that mean that a waiting step goes on. */
const GOES_ON = new Set<string>([EVENT.childCreated, EVENT.agentPinned]);

export function foldRun(events: readonly LogEntry[]): RunFold {
  const steps = new Map<string, Step>();
  /** The latest visit of each task, for each item, which holds what starts inside it. */
  const latest = new Map<string, Step>();
  const fold: RunFold = { steps: [], startMs: null, endMs: null, status: null };
  for (const event of events) {
    const atMs = Date.parse(event.at);
    const status = RUN_STATUS[event.type];
    if (status !== undefined && event.task === null) {
      fold.status = status;
      if (status === 'running') fold.startMs ??= atMs;
      if (status === 'cancelled' || status === 'faulted' || status === 'completed') {
        fold.endMs = atMs;
        endOpenSteps(steps, status === 'faulted' ? 'faulted' : 'cancelled', atMs);
      }
    }
    if (event.task !== null) foldStep(event, event.task, atMs, steps, latest);
  }
  fold.steps = inTreeOrder([...steps.values()]);
  return fold;
}

function foldStep(
  { type, data }: LogEntry,
  reference: string,
  atMs: number,
  steps: Map<string, Step>,
  latest: Map<string, Step>,
): void {
  const visit = data['visit'];
  if (typeof visit !== 'number') return;
  const key = `${reference}#${visit}`;
  if (type === EVENT.taskStarted) {
    const items = itemsOf(data['items']);
    const parent = parentOf(reference, items, latest);
    const step: Step = {
      key,
      reference,
      visit,
      name: textOf(data['name']) ?? reference,
      type: textOf(data['type']) ?? '',
      attempt: typeof data['attempt'] === 'number' ? data['attempt'] : 1,
      status: 'running',
      startMs: atMs,
      endMs: null,
      askedMs: null,
      error: null,
      input: data['input'],
      output: undefined,
      omitted: data['input_omitted'] === true ? ['input'] : [],
      usage: null,
      humanTaskId: null,
      childRunId: null,
      parent: parent?.key ?? null,
      depth: parent === undefined ? 0 : parent.depth + 1,
      items,
    };
    steps.set(key, step);
    latest.set(placeOf(reference, items), step);
    return;
  }
  const step = steps.get(key);
  if (step === undefined) return;
  step.humanTaskId = textOf(data['hitl_task_id']) ?? step.humanTaskId;
  step.childRunId = textOf(data['child_run_id']) ?? step.childRunId;
  const end = ENDS[type];
  if (end !== undefined) {
    step.status = end;
    step.endMs = atMs;
    if ('output' in data) step.output = data['output'];
    if (data['output_omitted'] === true) step.omitted = [...step.omitted, 'output'];
    if (isRecord(data['usage'])) step.usage = data['usage'];
    // The server writes errors of this shape.
    if (end === 'faulted') step.error = (data['error'] as DslError | undefined) ?? null;
  } else if (type === EVENT.hitlCreated) {
    step.status = 'waiting';
    step.askedMs = atMs;
  } else if (GOES_ON.has(type)) step.status = 'running';
}

/** The nearest task that is written around this one, of the same item if it is in it. */
function parentOf(
  reference: string,
  items: readonly number[],
  latest: ReadonlyMap<string, Step>,
): Step | undefined {
  for (let end = reference.lastIndexOf('/'); end > 0; end = reference.lastIndexOf('/', end - 1)) {
    const holder = reference.slice(0, end);
    const step = latest.get(placeOf(holder, items)) ?? latest.get(placeOf(holder, items.slice(0, -1)));
    if (step !== undefined) return step;
  }
  return undefined;
}

function placeOf(reference: string, items: readonly number[]): string {
  return items.length === 0 ? reference : `${reference} ${items.join(' ')}`;
}

function itemsOf(value: unknown): number[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'number') : [];
}

/** A run that ends leaves no step open, though the end of each may not be in the log. */
function endOpenSteps(steps: ReadonlyMap<string, Step>, status: StepStatus, atMs: number): void {
  for (const step of steps.values()) {
    if (step.endMs !== null) continue;
    step.status = status;
    step.endMs = atMs;
  }
}

function inTreeOrder(steps: readonly Step[]): Step[] {
  const inside = Map.groupBy(steps, ({ parent }) => parent);
  const ordered: Step[] = [];
  const open = (inside.get(null) ?? []).toReversed();
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    ordered.push(step);
    open.push(...(inside.get(step.key) ?? []).toReversed());
  }
  return ordered;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
