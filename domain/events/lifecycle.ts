/**
 * The DSL's lifecycle events (dsl-reference.md "Lifecycle Events"), derived from the entries of a run's log.
 * The log has fewer entries than the DSL has events: a task is created when it starts, and it is suspended
 * and resumed with its run.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { LogEvent } from './log-reader.ts';

export interface Announced {
  type: string;
  task: string | null;
  data: Record<string, unknown>;
  /** 0 for the entry itself; its further events count from 1. */
  part: number;
}

/** The member of `data` that holds the time, by the last word of the type. */
const momentOf: Record<string, string> = {
  created: 'createdAt',
  started: 'startedAt',
  suspended: 'suspendedAt',
  resumed: 'resumedAt',
  retried: 'retriedAt',
  cancelled: 'cancelledAt',
  faulted: 'faultedAt',
  completed: 'completedAt',
};
const LIFECYCLE_TYPE = /^io\.serverlessworkflow\.(workflow|task)\.([a-z]+)\.v1$/;
/** Run events that list the tasks which the run suspends or resumes. */
const typeForTasks: Record<string, string> = {
  [EVENT.runSuspended]: EVENT.taskSuspended,
  [EVENT.runResumed]: EVENT.taskResumed,
};

/** The events of an entry, in the order in which they are sent. */
export function announced({ type, task, data }: Pick<LogEvent, 'type' | 'task' | 'data'>): Announced[] {
  const entry = { type, task, data, part: 0 };
  if (type === EVENT.taskStarted) {
    const { startedAt, input: _input, input_omitted: _omitted, ...rest } = data;
    return [{ type: EVENT.taskCreated, task, data: { ...rest, createdAt: startedAt }, part: 1 }, entry];
  }
  const typeOfTasks = typeForTasks[type];
  if (typeOfTasks === undefined) return [entry];
  const { tasks, ...own } = data;
  return [
    { ...entry, data: own },
    ...tasksOf(tasks).map((each, index) => ofTask(typeOfTasks, each, own, index + 1)),
  ];
}

interface HeldTask {
  task: string;
  visit: number;
}

/** Only workflow code writes these lists, so invalid entries are simply dropped. */
function tasksOf(tasks: unknown): HeldTask[] {
  return Array.isArray(tasks)
    ? tasks.filter((each): each is HeldTask => isRecord(each) && typeof each['task'] === 'string')
    : [];
}

/** A task event's `workflow` is the run's name. */
function ofTask(
  type: string,
  { task, visit }: HeldTask,
  { name, ...moment }: Record<string, unknown>,
  part: number,
): Announced {
  return { type, task, data: { workflow: name, task, visit, ...moment }, part };
}

/**
 * `data` with every member that the DSL requires for the type, beside those that the platform adds. Fills in
 * the run's qualified name and the time, which entries written outside the workflow may lack.
 */
export function lifecycleData(
  type: string,
  data: Record<string, unknown>,
  event: LogEvent,
): Record<string, unknown> {
  const [, of, word = ''] = LIFECYCLE_TYPE.exec(type) ?? [];
  if (of === undefined) return data;
  const name = `${event.workflow_name}-${event.run_id}`;
  const subject = of === 'task' ? { workflow: name, task: event.task } : { name };
  const moment = momentOf[word];
  return { ...subject, ...(moment === undefined ? {} : { [moment]: event.at.toISOString() }), ...data };
}
