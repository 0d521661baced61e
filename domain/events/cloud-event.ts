/** Events of runs as CloudEvents 1.0 in structured JSON: what webhooks and `/events` carry. */
import type { LogEvent } from './log-reader.ts';

export const cloudEventType = 'application/cloudevents+json';

export interface CloudEvent {
  specversion: '1.0';
  /** Unique, and the same in every copy that is sent of one event. */
  id: string;
  source: string;
  type: string;
  /** JSON pointer of the task; absent for the run itself. */
  subject?: string;
  /** RFC 3339. */
  time: string;
  datacontenttype: 'application/json';
  data: Record<string, unknown>;
}

/** `data` is the entry of the run's log, and whose it is. `baseUrl` without a slash at the end. */
export function toCloudEvent(event: LogEvent, baseUrl: string): CloudEvent {
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

export function eventId({ run_id, seq }: Pick<LogEvent, 'run_id' | 'seq'>): string {
  return `${run_id}:${seq}`;
}
