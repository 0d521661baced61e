/** How many notifications a person has not read, as it changes. */
import { Readable } from 'node:stream';

import { countUnread } from '../../../domain/notifications/inbox.ts';
import type { AppDeps } from '../../deps.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { UNREAD_BYTES } from '../../streams/event-stream.ts';
import { cutUnread } from '../../streams/follow.ts';
import { openerOf } from '../../streams/live-sessions.ts';

const HEARTBEAT_MS = 15_000;

export async function streamNotifications(
  { sessions, notificationFeeds, orm, isStopping }: AppDeps,
  { ctx, actor }: EndpointContext,
): Promise<EndpointResponse> {
  const session = await sessions.openStream(openerOf(ctx));
  const disconnected = new AbortController();
  const release = (): void => {
    disconnected.abort();
    session.close();
  };
  if (ctx.res.closed || ctx.res.destroyed) release();
  else ctx.res.once('close', release);
  cutUnread(ctx, session);
  const signal = AbortSignal.any([session.signal, disconnected.signal]);

  async function* blocks(): AsyncGenerator<string> {
    let last = -1;
    while (!signal.aborted && !isStopping()) {
      // Before the count, so that no change falls between the two.
      const changed = notificationFeeds.next(actor.id, HEARTBEAT_MS, signal);
      const unread = await countUnread(orm.em.fork(), actor.id);
      yield unread === last ? ': heartbeat\n\n' : `event: unread\ndata: ${JSON.stringify({ unread })}\n\n`;
      last = unread;
      await changed;
    }
  }
  return {
    status: 200,
    type: 'text/event-stream',
    body: Readable.from(blocks(), { objectMode: false, highWaterMark: UNREAD_BYTES }),
    headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  };
}
