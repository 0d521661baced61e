/** Events of runs as CloudEvents 1.0 in structured JSON: what webhooks and `/events` carry. */
import { EVENT } from '../../contracts/run-events.ts';
import type { LogEvent } from './log-reader.ts';

export const cloudEventType = 'application/cloudevents+json';

export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  /** RFC 3339. */
  time: string;
  /** Of our own events the JSON pointer of the task; absent for the run itself. */
  subject?: string;
  datacontenttype?: string;
  data?: unknown;
  /** Extension attributes. */
  [name: string]: unknown;
}

/**
 * `data` is the entry of the run's log, and whose it is; what a task emitted is passed on as it was emitted. `baseUrl` without
 * a slash at the end.
 */
export function toCloudEvent(event: LogEvent, baseUrl: string): CloudEvent {
  const emitted = emittedBy(event);
  if (emitted) return emitted;
  const { run_id, workflow_id, workflow_name, seq, level, task, message, data } = event;
  return {
    specversion: '1.0',
    id: eventId(event),
    source: `${baseUrl}/runs/${run_id}`,
    type: event.type,
    ...(task === null ? {} : { subject: task }),
    time: event.at.toISOString(),
    datacontenttype: 'application/json',
    data: { run_id, workflow_id, workflow_name, seq, level, task, message, data },
  };
}

/** The type that the event has for those whom it is passed on to. */
export function cloudEventTypeOf(event: Pick<LogEvent, 'type' | 'data'>): string {
  return emittedBy(event)?.type ?? event.type;
}

/** Written by workflow code only, which has checked its attributes. */
function emittedBy({ type, data }: Pick<LogEvent, 'type' | 'data'>): CloudEvent | null {
  return type === EVENT.eventEmitted ? (data['event'] as CloudEvent) : null;
}

/** Unique, and the same in every copy that is sent of one event. */
export function eventId({ run_id, seq }: Pick<LogEvent, 'run_id' | 'seq'>): string {
  return `${run_id}:${seq}`;
}
