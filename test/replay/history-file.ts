/**
 * A workflow's history as a text file: plain objects of protobuf, one event a line. (The SDK's own
 * historyToJSON fails: "type must be a Type".)
 */
import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';

export type History = temporal.api.history.v1.IHistory;

/** Characters of base64. */
const MAX_ACTIVITY_INPUT = 16_384;

const HistoryMessage = proto.temporal.api.history.v1.History;

interface PlainEvent {
  activityTaskScheduledEventAttributes?: { input?: { payloads?: { data: string }[] } };
}

/**
 * Leaves out what only describes the recording machine, and large inputs of activities, which a replay does
 * not compare. Throws if a payload went through the codec, because
 * no other process could read it.
 */
export function historyToText(history: History): string {
  const plain: unknown = HistoryMessage.toObject(HistoryMessage.fromObject(history), {
    longs: String,
    enums: String,
    bytes: String,
  });
  const text = JSON.stringify(plain, (key, value: unknown) =>
    key === 'identity' ? 'worker' : key === 'stackTrace' ? '' : value,
  )
    // Names of sticky task queues contain process and host.
    .replaceAll(/\d+@[\w.-]+/g, 'worker');
  const encodings = [...text.matchAll(/"encoding":"([^"]*)"/g)].map((match) =>
    Buffer.from(match[1] ?? '', 'base64').toString(),
  );
  const other = encodings.find(
    (encoding) => !['json/plain', 'binary/null', 'binary/plain'].includes(encoding),
  );
  if (other) throw new Error(`a payload is ${other}: keep the scenario's data small`);
  const { events } = JSON.parse(text) as { events: PlainEvent[] };
  for (const { activityTaskScheduledEventAttributes: scheduled } of events)
    for (const payload of scheduled?.input?.payloads ?? [])
      if (payload.data.length > MAX_ACTIVITY_INPUT) payload.data = Buffer.from('{}').toString('base64');
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`;
}

export function historyFromText(text: string): History {
  return HistoryMessage.fromObject(JSON.parse(text) as Record<string, unknown>);
}
