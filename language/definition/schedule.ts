/** `schedule` of a definition: when its runs start by themselves. */
import { z } from 'zod';

import type { Checker } from './checker.ts';
import { duration, eventStrategy, readMode } from './common-shapes.ts';
import { cronProblem, neverComes } from './cron.ts';
import { durationToMs } from './duration.ts';
import { checkStrategy } from './kinds/listen.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { ScheduleTimes } from '../../contracts/schedules.ts';
import { checkDuration } from './reusable.ts';
import { inputFault } from '../schema/form-errors.ts';
import { violationsWithin } from '../schema/validate-json.ts';
import type { Problems } from './problems.ts';
import type { Place } from './scope.ts';
import { exact } from './shape.ts';
import { unsupported } from './support.ts';

const SECOND_MS = 1_000;
/** Of the check of `{}` against the input schema; a schema that takes more is not warned of. */
const MAX_INPUT_STEPS = 100_000;
const KINDS = ['every', 'cron', 'after', 'on'] as const;

export const scheduleShape = exact({
  every: duration.optional(),
  cron: z
    .string()
    .superRefine((text, context) => {
      const problem = cronProblem(text);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    })
    .optional(),
  after: duration.optional(),
  on: eventStrategy.optional(),
  read: readMode.optional(),
}).refine(
  (value) => value.read === undefined || value.on !== undefined,
  'has "read" only together with "on"',
);

/** Before a run there is nothing but the event. */
const OF_SCHEDULE: Place = { site: 'schedule', locals: [], secrets: 'refuse' };

export function checkSchedule(schedule: unknown, checker: Checker): void {
  if (!isRecord(schedule)) return;
  for (const key of ['every', 'after'] as const) {
    const place = `/schedule/${key}`;
    checkDuration(schedule[key], place, { site: 'workflow.input', locals: [], secrets: 'refuse' }, checker);
    if (usesExpression(schedule[key]))
      checker.problems.error(place, 'expression_not_allowed', 'a schedule has no data to evaluate: name it');
  }
  const times = timesOf({ schedule });
  if (times?.kind === 'every' && (times.ms === 0 || times.ms % SECOND_MS !== 0))
    checker.problems.error('/schedule/every', 'no_whole_seconds', 'a schedule repeats after whole seconds');
  if (times?.kind === 'cron' && cronProblem(times.cron) === null && neverComes(times.cron))
    checker.problems.warning(
      '/schedule/cron',
      'never_comes',
      'never comes: its months do not have such a day, so no run will start',
    );
  if (KINDS.filter((kind) => schedule[kind] !== undefined).length > 1)
    unsupported(checker, '/schedule', 'schedule.combined');
  if (schedule['on'] === undefined) return;
  checkStrategy(schedule['on'], '/schedule/on', OF_SCHEDULE, checker);
}

/** By the clock a run starts with the input `{}`. @param schema of the input */
export function warnOfMissingInput(definition: unknown, schema: unknown, problems: Problems): void {
  const times = timesOf(definition);
  if (times === null || times.kind === 'on' || !(isRecord(schema) || typeof schema === 'boolean')) return;
  const { found, complete } = violationsWithin(schema, {}, MAX_INPUT_STEPS);
  const [first] = found;
  if (!complete || first === undefined) return;
  problems.warning(
    `/schedule/${times.kind}`,
    'input_missing',
    `no run can start: by the clock its input is {}, of which the input schema says: ${inputFault(first)}`,
  );
}

function usesExpression(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${');
}

/** When a valid definition's runs start by the clock; null if they do not. */
export function timesOf(definition: unknown): ScheduleTimes | null {
  const schedule = isRecord(definition) ? definition['schedule'] : undefined;
  if (!isRecord(schedule)) return null;
  const { every, cron, after } = schedule;
  try {
    if (every !== undefined) return { kind: 'every', ms: durationToMs(every) };
    if (after !== undefined) return { kind: 'after', ms: durationToMs(after) };
  } catch {
    // Reported by `checkDuration`.
    return null;
  }
  if (isRecord(schedule['on'])) return onOf(schedule['on'], schedule['read']);
  return typeof cron === 'string' ? { kind: 'cron', cron: cron.trim() } : null;
}

function onOf(on: Record<string, unknown>, read: unknown): ScheduleTimes {
  const until = on['any'] !== undefined && typeof on['until'] === 'string' ? on['until'] : null;
  return { kind: 'on', on, until, read: read === 'data' || read === 'raw' ? read : 'envelope' };
}
