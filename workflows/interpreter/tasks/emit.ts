import { patched } from '@temporalio/workflow';
import { readClock } from '../clock.ts';
import type { EmitTask } from '../../../language/definition/model.ts';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { workflowUuid } from '../ids.ts';
import { sizeOf } from '../size.ts';

/** In characters of JSON, approximately: as many as `POST /events` takes bytes. */
const MAX_EVENT_SIZE = 2 * 1024 * 1024;

/** RFC 3339. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/**
 * dsl-reference.md "Emit", "Event Properties". The event is an entry of the run's log, keyed by the visit, so
 * it is published once; streams and webhooks pass on the CloudEvent inside. The CloudEvent is also the task's
 * output.
 */
export function runEmit(
  execution: Execution,
  definition: EmitTask,
  task: Task,
  input: unknown,
  at: At,
): Outcome {
  const given = resolve(definition.emit.event.with, input, at) as Record<string, unknown>;
  const { data, ...attributes } = given;
  const hasData = data !== undefined && data !== null;
  const event: Record<string, unknown> = {
    specversion: '1.0',
    id: workflowUuid(),
    source: execution.url,
    // The output of the task.
    time: new Date(readClock()).toISOString(),
    ...(hasData ? { datacontenttype: 'application/json' } : {}),
    ...Object.fromEntries(
      Object.entries(attributes).flatMap(([name, value]) => attribute(name, value, task)),
    ),
    ...(hasData ? { data } : {}),
  };
  if (typeof event['type'] !== 'string') throw fault('validation', 'The event has no type', task.ref);
  // Runs that emitted more before go on after that.
  if (sizeOf(event) > MAX_EVENT_SIZE && patched('event-size'))
    throw fault(
      'runtime',
      `limit exceeded: the event has more than ${MAX_EVENT_SIZE} characters of JSON`,
      task.ref,
    );
  execution.journal.add(
    execution.taskEvent(
      task,
      EVENT.eventEmitted,
      'emitted',
      LOG_TEXT.eventEmitted(task.name, event['type']),
      {
        data: { event },
      },
    ),
  );
  return { output: event };
}

/**
 * CloudEvents 1.0 §3: attributes are strings, numbers or booleans; null ones are omitted, and standard ones
 * are non-empty strings.
 */
function attribute(name: string, value: unknown, task: Task): [string, unknown][] {
  if (value === null || value === undefined || name === 'specversion') return [];
  const invalidAttribute = (why: string) =>
    fault('validation', `The attribute ${JSON.stringify(name)} of the event ${why}`, task.ref);
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw invalidAttribute('must be a text, a number or a boolean');
  // Attributes also become headers and lines of streams.
  if (typeof value === 'string' && /[\p{Cc}\p{Cs}]/u.test(value))
    throw invalidAttribute('has control characters or halves of surrogate pairs');
  if (!STANDARD.has(name)) return [[name, value]];
  const text = String(value);
  if (text === '') throw invalidAttribute('is empty');
  if (name === 'time' && (!TIME.test(text) || Number.isNaN(Date.parse(text))))
    throw invalidAttribute('must be a time as RFC 3339 writes it');
  return [[name, text]];
}

const STANDARD = new Set(['id', 'source', 'type', 'time', 'subject', 'datacontenttype', 'dataschema']);
