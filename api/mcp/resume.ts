/**
 * Resumes the stream of a tool call (MCP 2025-11-25, "Resumability and Redelivery"). The id of an event names
 * the call and an entry of its run's log, so any copy of this server can tell what the client has missed.
 */
import type { Context } from 'koa';

import { isUuid } from '../../contracts/uuid.ts';
import { AppError, badRequest } from '../../domain/errors.ts';
import { findProtocolCall, type ProtocolCall } from '../../domain/runs/protocol-calls.ts';
import { getRun } from '../../domain/runs/queries.ts';
import { sendEvents } from '../a2a/sse.ts';
import { followRun } from '../protocol-calls/follow-run.ts';
import { cutUnread } from '../streams/follow.ts';
import type { LiveSession } from '../streams/live-sessions.ts';
import type { McpCall } from './call.ts';
import { runResult } from './results.ts';

const WAIT_MS = 15 * 60_000;

export function eventId({ id, lastSeq }: Pick<McpCall, 'id' | 'lastSeq'>): string {
  return `${id}_${lastSeq}`;
}

/** @throws 400 for an id that is none of ours, 404 if the call has not begun a run */
export async function resumeCall(ctx: Context, call: McpCall, lastEventId: string): Promise<void> {
  const [, id = '', seq] = /^([0-9a-f-]{36})_(\d{1,9})$/.exec(lastEventId) ?? [];
  if (!isUuid(id))
    throw badRequest('invalid_last_event_id', 'Last-Event-ID is none of those of this server.');
  const { deps, actor } = call;
  const begun = await findProtocolCall(deps.orm.em.fork(), actor.id, id);
  if (!begun?.request_id) throw new AppError('not_found', 'not_found', 'There is no such stream.');
  const session = await call.openSession();
  cutUnread(ctx, session);
  // The client may have left meanwhile.
  if (ctx.res.closed) session.close();
  else ctx.res.once('close', () => session.close());
  const shown = { id, lastSeq: Number(seq) };
  await sendEvents(ctx, {
    events: missed(call, begun, shown, session),
    lastId: () => eventId(shown),
    onError: () => rpc(begun, { error: { code: -32603, message: 'Internal error' } }),
  });
}

async function* missed(
  { deps, gone }: McpCall,
  begun: ProtocolCall,
  shown: Pick<McpCall, 'lastSeq'>,
  session: LiveSession,
): AsyncGenerator<unknown, void, undefined> {
  const { run_id: runId, progress_token: token } = begun;
  const following = { runId, after: shown.lastSeq, untilMs: performance.now() + WAIT_MS };
  const entries = followRun({ deps, session, gone }, following);
  for (;;) {
    const next = await entries.next();
    if (next.done) {
      if (next.value === 'gone') return;
      yield rpc(begun, { result: runResult(await getRun(deps.orm.em.fork(), session.actor, runId)) });
      return;
    }
    for (const { seq, message } of token === null ? [] : next.value.events) {
      shown.lastSeq = seq;
      const params = { progressToken: JSON.parse(token ?? 'null') as unknown, progress: seq, message };
      yield { jsonrpc: '2.0', method: 'notifications/progress', params };
    }
  }
}

function rpc({ request_id: id }: ProtocolCall, body: object): object {
  return { jsonrpc: '2.0', id: JSON.parse(id ?? 'null') as unknown, ...body };
}
