/** A run's log as Server-Sent Events (WHATWG). The table is the truth: a notification only wakes the reader. */
import { Readable } from 'node:stream';
import { isTerminal } from '../../../contracts/run-events.ts';
import type { EntityManager } from '../../../db/orm.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { currentActor } from '../../../domain/auth/current-actor.ts';
import { badRequest } from '../../../domain/errors.ts';
import { maySeeRun } from '../../../domain/runs/policy.ts';
import { eventsAfter, getRun } from '../../../domain/runs/queries.ts';
import type { AppDeps } from '../../app.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { presentEvent } from './presenter.ts';

const HEARTBEAT_MS = 15_000;
const BATCH = 500;

export async function streamRun(deps: AppDeps, c: EndpointContext<{ id: string }>): Promise<EndpointResponse> {
  const run = await getRun(c.em, c.actor, c.params.id);
  const after = lastEventId(c);
  if (isTerminal(run.status) && after >= run.last_seq) return { status: 204 };
  const stream = Readable.from(events(deps, c.actor, run.id, after), { objectMode: false, highWaterMark: 64 * 1024 });
  return { status: 200, type: 'text/event-stream', body: stream, headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' } };
}

function lastEventId(c: EndpointContext): number {
  const header = c.ctx.get('last-event-id');
  if (header === '') return 0;
  const seq = Number(header);
  if (!Number.isSafeInteger(seq) || seq < 0) throw badRequest('invalid_last_event_id', 'Last-Event-ID must be the id of an event of this stream.');
  return seq;
}

async function* events(deps: AppDeps, reader: Actor, runId: string, after: number): AsyncGenerator<string> {
  const watch = deps.runEvents.watch(runId);
  let seq = after;
  let lastSent = Date.now();
  let lastChecked = lastSent;
  try {
    yield ': connected\n\n';
    for (;;) {
      const em = deps.orm.em.fork();
      if (Date.now() - lastChecked >= HEARTBEAT_MS) {
        if (!(await seesStill(em, reader, runId))) return;
        lastChecked = Date.now();
      }
      // Status first: if it is terminal, the events read after it are all there will be.
      const [row] = await em.execute<{ status: string }[]>(`select status from run where id = ?`, [runId]);
      const rows = await eventsAfter(em, runId, { after: seq, limit: BATCH });
      for (const event of rows) {
        yield `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(presentEvent(event))}\n\n`;
        seq = event.seq;
        lastSent = Date.now();
      }
      if (rows.length === BATCH) continue;
      if (!row || isTerminal(row.status) || deps.isStopping()) return;
      await watch.next(Math.max(0, lastSent + HEARTBEAT_MS - Date.now()));
      if (Date.now() - lastSent >= HEARTBEAT_MS) {
        yield ': heartbeat\n\n';
        lastSent = Date.now();
      }
    }
  } finally {
    watch.close();
  }
}

/** Whoever was disabled, or lost a role or the run, sees no more than they may now. */
async function seesStill(em: EntityManager, reader: Actor, runId: string): Promise<boolean> {
  const actor = await currentActor(em, reader.id);
  const [run] = await em.execute<{ owner_id: string }[]>(`select owner_id from run where id = ?`, [runId]);
  return actor !== null && run !== undefined && maySeeRun(actor, run);
}
