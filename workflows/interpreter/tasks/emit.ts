import type { EmitTask } from '../../../contracts/definition/model.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { workflowUuid } from '../ids.ts';

/** RFC 3339. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/**
 * dsl-reference.md "Emit", "Event Properties". The event is an entry of the run's log, keyed by the visit, so that it is
 * published once; streams and webhooks pass on the CloudEvent in it. The task's output is the CloudEvent.
 */
export function runEmit(x: Execution, definition: EmitTask, task: Task, input: unknown, at: At): Outcome {
  const given = resolve(definition.emit.event.with, input, at) as Record<string, unknown>;
  const { data, ...attributes } = given;
  const hasData = data !== undefined && data !== null;
  const event: Record<string, unknown> = {
    specversion: '1.0',
    id: workflowUuid(),
    source: x.url,
    time: new Date().toISOString(),
    ...(hasData ? { datacontenttype: 'application/json' } : {}),
    ...Object.fromEntries(Object.entries(attributes).flatMap(([name, value]) => attribute(name, value, task))),
    ...(hasData ? { data } : {}),
  };
  if (typeof event['type'] !== 'string') throw fault('validation', 'The event has no type', task.ref);
  x.journal.add(x.taskEvent(task, EVENT.eventEmitted, 'emitted', `${task.name} emitted ${event['type']}`, { data: { event } }));
  return { output: event };
}

/** CloudEvents 1.0 §3: attributes are texts, numbers or booleans, null ones are absent, and those of the standard are texts that are not empty. */
function attribute(name: string, value: unknown, task: Task): [string, unknown][] {
  if (value === null || value === undefined || name === 'specversion') return [];
  const wrong = (why: string) => fault('validation', `The attribute ${JSON.stringify(name)} of the event ${why}`, task.ref);
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') throw wrong('must be a text, a number or a boolean');
  // Of which lines of a stream and headers are made, too.
  if (typeof value === 'string' && /[\p{Cc}\p{Cs}]/u.test(value)) throw wrong('has control characters or halves of surrogate pairs');
  if (!STANDARD.has(name)) return [[name, value]];
  const text = String(value);
  if (text === '') throw wrong('is empty');
  if (name === 'time' && (!TIME.test(text) || Number.isNaN(Date.parse(text)))) throw wrong('must be a time as RFC 3339 writes it');
  return [[name, text]];
}

const STANDARD = new Set(['id', 'source', 'type', 'time', 'subject', 'datacontenttype', 'dataschema']);
