/** Streams all events that the caller may see, as Server-Sent Events in log order. */
import { STREAM_PAGE_BYTES } from '../../../db/large-fields.ts';
import { ANY_RUN } from '../../../db/run-event-watcher.ts';
import { isAdmin, type Actor } from '../../../domain/auth/actor.ts';
import { toCloudEvents } from '../../../domain/events/cloud-event.ts';
import { readLog, startOfNow, type LogEvent, type LogFilter } from '../../../domain/events/log-reader.ts';
import {
  decodePosition,
  encodePosition,
  isAfter,
  positionBefore,
  type Position,
} from '../../../domain/events/position.ts';
import { matchesType } from '../../../domain/events/type-filter.ts';
import {
  concerns,
  maySeeEvent,
  taskAudiences,
  type TaskAudiences,
} from '../../../domain/events/visibility.ts';
import { runsSeenBy } from '../../../domain/runs/policy.ts';
import type { AppDeps } from '../../deps.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { sendStream } from '../../streams/follow.ts';
import type { LogEntry } from '../../streams/entries.ts';
import { openerOf } from '../../streams/live-sessions.ts';
import { SharedReader, type LogSource, type Reading } from '../../streams/shared-reader.ts';

const BATCH = 200;
/** Minimum interval between reads of the log, however many runs there are. */
const COALESCE_MS = 100;
const BEHIND_MS = 50;
const IDLE_MS = 15_000;

type Page = Reading<LogEntry, Position>;

export interface EventFilter {
  types: readonly string[];
  run_id?: string | undefined;
  workflow_id?: string | undefined;
  /** Without the events that only admins see. */
  mine: boolean;
}

export async function streamEvents(
  deps: AppDeps,
  c: EndpointContext,
  filter: EventFilter,
): Promise<EndpointResponse> {
  const header = c.ctx.get('last-event-id');
  const start = await startOfNow(c.em);
  const isNew = header === '';
  const from = isNew ? start.position : decodePosition(header);
  const session = await deps.sessions.openStream(openerOf(c.ctx));
  const { reader, leave } = deps.eventReaders.join(
    '',
    () => new SharedReader(logSource(deps), start.position, deps.logger),
  );
  const follower = {
    reader,
    from,
    catchUp: (after: Position) => {
      const { run_id, workflow_id } = filter;
      const { actor } = session;
      const own = { sql: 'r.owner_id = ?::uuid', values: [actor.id] };
      const runs = filter.mine ? own : isAdmin(actor) ? undefined : runsSeenBy(actor, 'r');
      return readPage(deps, after, { runs, run_id, workflow_id });
    },
    blockOf: (entry: LogEntry) => {
      if (isNew && start.isBefore(entry.place)) return null;
      return entry.seenBy(session.actor) && matches(entry, filter, session.actor)
        ? blockOf(entry, filter.types)
        : null;
    },
    mark: markPosition,
    mayFollow: () => true,
    isStopping: deps.isStopping,
  };
  return sendStream(c.ctx, session, follower, leave);
}

/**
 * A comment with an `id:`. It advances `Last-Event-ID` without an event, so that skipped entries are not read
 * again.
 */
function markPosition(word: string, position: Position): string {
  return `: ${word}\nid: ${encodePosition(position)}\n\n`;
}

function matches(entry: LogEntry, { run_id, workflow_id, mine }: EventFilter, actor: Actor): boolean {
  return (
    (run_id === undefined || entry.runId === run_id.toLowerCase()) &&
    (workflow_id === undefined || entry.workflowId === workflow_id.toLowerCase()) &&
    (!mine || entry.concerns(actor))
  );
}

/**
 * Only the last event of an entry has its id: a client that reconnects in between gets the whole entry again.
 */
function blockOf({ events, place }: LogEntry, types: readonly string[]): string | null {
  const wanted = events.filter(({ type }) => matchesType(types, type));
  const written = wanted.map(({ type, json }, index) => {
    const id = index === wanted.length - 1 ? `id: ${encodePosition(place)}\n` : '';
    return `${id}event: ${type}\ndata: ${json}\n\n`;
  });
  return wanted.length === 0 ? null : written.join('');
}

/** Source of the shared reader of all runs' log. Each stream filters entries with `seenBy`. */
function logSource(deps: AppDeps): LogSource<LogEntry, Position> {
  const watch = deps.runEvents.watch(ANY_RUN);
  let readAtMs = 0;
  let behind = false;
  return {
    isAfter,
    async read(after) {
      readAtMs = Date.now();
      const page = await readPage(deps, after);
      ({ behind } = page);
      return page;
    },
    async wait() {
      await pause(COALESCE_MS - (Date.now() - readAtMs));
      await watch.next(behind ? BEHIND_MS : IDLE_MS);
    },
    close: () => watch.close(),
  };
}

async function readPage(
  deps: AppDeps,
  after: Position,
  filter: LogFilter = {},
): Promise<Page & { behind: boolean }> {
  const em = deps.orm.em.fork();
  const {
    events,
    isFull: more,
    oldestOpenTx,
    behind,
  } = await readLog(em, after, { ...filter, limit: BATCH, bytes: STREAM_PAGE_BYTES });
  const audiences = await taskAudiences(em, events);
  const entries = events.map((event) => entryOf(event, audiences, deps.env.BASE_URL));
  const last = entries.at(-1)?.place ?? after;
  return {
    entries,
    reached: more ? last : latest(last, positionBefore(oldestOpenTx)),
    more,
    over: false,
    behind,
  };
}

function entryOf(event: LogEvent, audiences: TaskAudiences, baseUrl: string): LogEntry {
  const events = toCloudEvents(event, baseUrl).map((cloudEvent) => ({
    type: cloudEvent.type,
    json: JSON.stringify(cloudEvent),
  }));
  // Keep only the data that the access check needs; the JSON text has all of it.
  const accessFields = { ...event, data: { hitl_task_id: event.data['hitl_task_id'] } };
  return {
    place: event.position,
    size: events.reduce((sum, { json }) => sum + json.length, 0),
    events,
    runId: event.run_id,
    workflowId: event.workflow_id,
    seenBy: (actor) => maySeeEvent(actor, accessFields, audiences),
    concerns: (actor) => concerns(actor, accessFields, audiences),
  };
}

function latest(left: Position, right: Position): Position {
  return isAfter(right, left) ? right : left;
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
