/** Everything that the caller may see, as Server-Sent Events in the order of the log of all runs. */
import { Readable } from 'node:stream';

import { anyRun } from '../../../db/run-event-watcher.ts';
import { currentActor } from '../../../domain/auth/current-actor.ts';
import { isAdmin, type Actor } from '../../../domain/auth/actor.ts';
import { cloudEventTypeOf, toCloudEvent } from '../../../domain/events/cloud-event.ts';
import { currentPosition, readLog } from '../../../domain/events/log-reader.ts';
import { decodePosition, encodePosition, positionBefore, type Position } from '../../../domain/events/position.ts';
import { matchesType } from '../../../domain/events/type-filter.ts';
import { maySeeEvent, taskAudiences } from '../../../domain/events/visibility.ts';
import type { AppDeps } from '../../app.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';

const HEARTBEAT_MS = 15_000;
const BATCH = 200;
/** Streams read at most so often, however many runs there are. */
const COALESCE_MS = 100;
const BEHIND_MS = 50;

export async function streamEvents(deps: AppDeps, c: EndpointContext, types: readonly string[]): Promise<EndpointResponse> {
  const header = c.ctx.get('last-event-id');
  const from = header === '' ? await currentPosition(c.em) : decodePosition(header);
  const stream = Readable.from(events(deps, c.actor, from, types), { objectMode: false, highWaterMark: 64 * 1024 });
  return { status: 200, type: 'text/event-stream', body: stream, headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' } };
}

/** An `id:` without data moves `Last-Event-ID` on without an event: what was passed over is not read again. */
const mark = (comment: string, position: Position): string => `: ${comment}\nid: ${encodePosition(position)}\n\n`;

async function* events(deps: AppDeps, first: Actor, from: Position, types: readonly string[]): AsyncGenerator<string> {
  const watch = deps.runEvents.watch(anyRun);
  let actor: Actor | null = first;
  let position = from;
  let sentAtMs = Date.now();
  let checkedAtMs = sentAtMs;
  try {
    yield mark('connected', position);
    for (;;) {
      const readAtMs = Date.now();
      const em = deps.orm.em.fork();
      if (readAtMs - checkedAtMs >= HEARTBEAT_MS) {
        // Whoever was disabled, or lost a role, sees no more than they may now.
        actor = await currentActor(em, actor.id);
        if (actor === null) return;
        checkedAtMs = readAtMs;
      }
      const page = await readLog(em, position, { limit: BATCH, runsOf: isAdmin(actor) ? undefined : actor.id });
      const audiences = await taskAudiences(em, page.events);
      for (const event of page.events) {
        position = event.position;
        if (!maySeeEvent(actor, event, audiences) || !matchesType(types, cloudEventTypeOf(event))) continue;
        yield `id: ${encodePosition(position)}\nevent: ${cloudEventTypeOf(event)}\ndata: ${JSON.stringify(toCloudEvent(event, deps.env.BASE_URL))}\n\n`;
        sentAtMs = Date.now();
      }
      if (deps.isStopping()) return;
      if (page.events.length === BATCH) continue;
      position = later(position, positionBefore(page.oldestOpenTx));
      if (Date.now() - sentAtMs >= HEARTBEAT_MS) {
        yield mark('heartbeat', position);
        sentAtMs = Date.now();
      }
      await pause(COALESCE_MS - (Date.now() - readAtMs));
      await watch.next(page.behind ? BEHIND_MS : Math.max(0, sentAtMs + HEARTBEAT_MS - Date.now()));
    }
  } finally {
    watch.close();
  }
}

function later(one: Position, other: Position): Position {
  return BigInt(other.tx) > BigInt(one.tx) ? other : one;
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
