/** Run events as CloudEvents 1.0 in structured JSON, for webhooks and `/events`. */
import { EVENT } from '../../contracts/run-events.ts';
import { traceAttributes, traceTextsOfRun } from '../../tracing/run-context.ts';
import { announced, lifecycleData, type Announced } from './lifecycle.ts';
import type { LogEvent } from './log-reader.ts';

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json';

export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  /** RFC 3339. */
  time: string;
  /** In our own events the JSON pointer of the task; absent for the run itself. */
  subject?: string;
  datacontenttype?: string;
  data?: unknown;
  /** Extension attributes. */
  [name: string]: unknown;
}

/**
 * The CloudEvents for one entry of a run's log, in order: the entry itself, and the lifecycle events that the
 * DSL adds to it (see `announced`). Events that a task emitted are passed on unchanged. `baseUrl` has no
 * trailing slash.
 */
export function toCloudEvents(event: LogEvent, baseUrl: string): CloudEvent[] {
  const emitted = emittedBy(event);
  return emitted ? [emitted] : announced(event).map((entry) => present(entry, event, baseUrl));
}

/** The types that `toCloudEvents` would return, without building the events. */
export function cloudEventTypesOf(event: Pick<LogEvent, 'type' | 'data' | 'task'>): string[] {
  const emitted = emittedBy(event);
  return emitted ? [emitted.type] : announced(event).map(({ type }) => type);
}

function present({ type, task, data, part }: Announced, event: LogEvent, baseUrl: string): CloudEvent {
  const { run_id, workflow_id, workflow_name, seq, level, message } = event;
  return {
    specversion: '1.0',
    id: part === 0 ? eventId(event) : `${eventId(event)}:${part}`,
    source: `${baseUrl}/runs/${run_id}`,
    type,
    ...(task === null ? {} : { subject: task }),
    time: event.at.toISOString(),
    datacontenttype: 'application/json',
    runid: run_id,
    ...(workflow_id === null ? {} : { workflowid: workflow_id }),
    workflowname: workflow_name,
    seq,
    level,
    ...traceOf(event),
    ...(part === 0 ? { message } : {}),
    data: lifecycleData(type, data, event),
  };
}

/** CloudEvents "Distributed Tracing": the span of the task, or of the run. */
function traceOf({ run_id: id, task, data, trace }: LogEvent): Partial<Record<string, string>> {
  if (trace === undefined) return {};
  const { visit } = data;
  const isOfTask = task !== null && typeof visit === 'number';
  return traceAttributes(
    traceTextsOfRun({ id, ...trace }, isOfTask ? { reference: task, visit } : undefined),
  );
}

/** The type assertion holds: only workflow code writes these events, after checking their attributes. */
function emittedBy({ type, data }: Pick<LogEvent, 'type' | 'data'>): CloudEvent | null {
  return isEmitted({ type }) ? (data['event'] as CloudEvent) : null;
}

/** Whether a workflow's author made the CloudEvent, including its id. */
export function isEmitted({ type }: Pick<LogEvent, 'type'>): boolean {
  return type === EVENT.eventEmitted;
}

/** The id of an entry: unique, and the same in every copy sent. */
export function eventId({ run_id, seq }: Pick<LogEvent, 'run_id' | 'seq'>): string {
  return `${run_id}:${seq}`;
}
