/**
 * Streams a run's log as Server-Sent Events (WHATWG). The table is the truth; notifications only wake the
 * reader.
 */
import { isTerminal } from '../../../contracts/run-events.ts';
import { STREAM_PAGE_BYTES } from '../../../db/large-fields.ts';
import { badRequest } from '../../../domain/errors.ts';
import { maySeeInside, maySeeRun, readInside, type InsideOfRun } from '../../../domain/runs/policy.ts';
import { listEvents, getRunInside } from '../../../domain/runs/queries.ts';
import type { AppDeps } from '../../deps.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { sendStream } from '../../streams/follow.ts';
import { RunReader, type RunEntry, type RunOwner } from '../../streams/entries.ts';
import { openerOf } from '../../streams/live-sessions.ts';
import type { LogSource, Reading } from '../../streams/shared-reader.ts';
import { presentEvent } from './presenter.ts';

const BATCH = 500;
const IDLE_MS = 15_000;

export async function streamRun(
  deps: AppDeps,
  c: EndpointContext<{ id: string }>,
): Promise<EndpointResponse> {
  const run = await getRunInside(c.em, c.actor, c.params.id);
  const from = lastEventId(c);
  if (isTerminal(run.status) && from >= run.last_seq) return { status: 204 };
  // Who has got the headers sees all that is produced afterwards.
  if (!isTerminal(run.status)) await deps.partialFeeds.ready();
  const session = await deps.sessions.openStream(openerOf(c.ctx));
  const { reader, leave } = deps.runReaders.join(run.id, () => openReader(deps, run, from));
  const partials = isTerminal(run.status) ? undefined : deps.partialFeeds.join(run.id, () => reader.nudge());
  const follower = {
    reader,
    from,
    catchUp: (after: number) => readPage(deps, run.id, after),
    blockOf: ({ text }: RunEntry) => text,
    mark: (word: string) => `: ${word}\n\n`,
    mayFollow: () =>
      reader.owner.current !== null &&
      maySeeRun(session.actor, reader.owner.current) &&
      maySeeInside(session.actor, reader.owner.current),
    isStopping: deps.isStopping,
    ...(partials ? { partials } : {}),
  };
  return sendStream(c.ctx, session, follower, () => {
    partials?.close();
    leave();
  });
}

function lastEventId(c: EndpointContext): number {
  const header = c.ctx.get('last-event-id');
  if (header === '') return 0;
  const seq = Number(header);
  if (!Number.isSafeInteger(seq) || seq < 0)
    throw badRequest('invalid_last_event_id', 'Last-Event-ID must be the id of an event of this stream.');
  return seq;
}

function openReader(deps: AppDeps, run: InsideOfRun & { id: string }, from: number): RunReader {
  const owner = { current: run };
  return new RunReader(runSource(deps, run.id, owner), from, deps.logger, owner);
}

function runSource(deps: AppDeps, runId: string, owner: RunOwner): LogSource<RunEntry, number> {
  const watch = deps.runEvents.watch(runId);
  return {
    isAfter: (left, right) => left > right,
    async read(after) {
      const { owner: current, ...page } = await readPage(deps, runId, after);
      owner.current = current;
      return page;
    },
    wait: () => watch.next(IDLE_MS),
    close: () => watch.close(),
  };
}

async function readPage(
  deps: AppDeps,
  runId: string,
  after: number,
): Promise<Reading<RunEntry, number> & { owner: InsideOfRun | null }> {
  const em = deps.orm.em.fork();
  // Read the status first: if it is terminal, the events read after it are complete.
  const run = await readInside(em, runId);
  const rows = await listEvents(em, runId, { after, limit: BATCH, bytes: STREAM_PAGE_BYTES });
  const entries = rows.map((event): RunEntry => {
    const text = `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(presentEvent(event))}\n\n`;
    return { place: event.seq, size: text.length, text };
  });
  const more = rows.at(-1)?.is_full === true;
  return {
    entries,
    more,
    reached: entries.at(-1)?.place ?? after,
    over: !more && (run === undefined || isTerminal(run.status)),
    owner: run ?? null,
  };
}
