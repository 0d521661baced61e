/**
 * Tells the readers of logs that runs have new events: after 5 ms, so that the call which they report goes
 * out first, then every 50 ms at most, with one statement for all runs of the process. PostgreSQL lets only
 * one transaction that notifies commit at a time, so the appends of steps do not notify themselves. If the
 * process dies before, readers see the events when they look by themselves (`db/run-event-watcher.ts`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Logger } from '../config/logger.ts';
import { Prepared } from '../db/prepared.ts';
import { arrayLiteral } from '../db/sql.ts';

/** The run has new events. Never throws. */
export type Announce = (runId: string) => void;

const FIRST_MS = 5;
const PAUSE_MS = 50;
/** PostgreSQL keeps the notifications of a transaction in memory. The rest waits for the next one. */
const MAX_AT_ONCE = 1_000;
const NOTIFY = new Prepared(`select pg_notify('run_event', id) from unnest(?::text[]) as id`);

export function createAnnounce(deps: { orm: MikroORM; logger: Logger }): Announce {
  const waiting = new Set<string>();
  let isSending = false;
  const sendAll = async (): Promise<void> => {
    isSending = true;
    try {
      await sleep(FIRST_MS, undefined, { ref: false });
      while (waiting.size > 0) {
        const ids = [...waiting].slice(0, MAX_AT_ONCE);
        for (const id of ids) waiting.delete(id);
        await NOTIFY.execute(deps.orm.em.fork(), [arrayLiteral(ids)]);
        await sleep(PAUSE_MS, undefined, { ref: false });
      }
    } finally {
      // At once: what is added from now on has to be sent by another call.
      isSending = false;
    }
  };
  return (runId) => {
    waiting.add(runId);
    if (isSending) return;
    sendAll().catch((error: unknown) =>
      deps.logger.warn({ err: error }, 'cannot tell readers of new events'),
    );
  };
}
