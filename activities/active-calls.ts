/**
 * The calls to counterparts that are active in this process. A call is aborted as soon as the database
 * reports that its task was cancelled, timed out or lost to another branch. Temporal reports this only in the
 * response to a heartbeat, which its SDK throttles to one in twelve seconds; faster heartbeats would cost the
 * server a write each.
 */
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Logger } from '../config/logger.ts';
import type { Notifications } from '../db/notifications.ts';
import { endedCalls, type CallUnderWay } from '../domain/runs/invocations.ts';

export interface ActiveCalls {
  /**
   * Watches a call until `close`. `signal` is aborted when the call's task, or its run if `task` is null, has
   * ended without it.
   */
  watch(call: CallUnderWay): { signal: AbortSignal; close(): void };
}

interface Watched extends CallUnderWay {
  controller: AbortController;
}

/**
 * A notification can arrive before its call has begun here, so recent ones are remembered, for a limited
 * number of runs.
 */
const REMEMBERED_MS = 10_000;
const REMEMBERED_RUNS = 1_000;

export interface ActiveCallsDeps {
  orm: MikroORM;
  logger: Logger;
  endedCalls: Notifications;
}

export function createActiveCalls(deps: ActiveCallsDeps): ActiveCalls {
  const watched = new Map<string, Set<Watched>>();
  const recent = new Map<string, number>();
  const due = new Set<string>();
  let checking = false;

  const check = async (): Promise<void> => {
    if (checking) return;
    checking = true;
    try {
      while (due.size > 0) {
        const calls = [...due].flatMap((runId) => [...(watched.get(runId) ?? [])]);
        due.clear();
        for (const index of await endedCalls(deps.orm.em.fork(), calls)) calls[index]?.controller.abort();
      }
    } catch (error) {
      deps.logger.warn(
        { err: error },
        'cannot read ended calls: they are cancelled by their next heartbeat instead',
      );
    } finally {
      checking = false;
    }
  };

  deps.endedCalls.subscribe((runId) => {
    for (const id of runId === null ? watched.keys() : [runId]) if (watched.has(id)) due.add(id);
    if (runId !== null) remember(recent, runId);
    void check();
  });

  return {
    watch({ run_id, task, visit }) {
      const call: Watched = { run_id, task, visit, controller: new AbortController() };
      const ofRun = watched.get(run_id) ?? new Set();
      watched.set(run_id, ofRun.add(call));
      if ((recent.get(run_id) ?? 0) > Date.now() - REMEMBERED_MS) {
        due.add(run_id);
        void check();
      }
      return {
        signal: call.controller.signal,
        close() {
          ofRun.delete(call);
          if (ofRun.size === 0 && watched.get(run_id) === ofRun) watched.delete(run_id);
        },
      };
    },
  };
}

/** Moves the run to the end, so the oldest are removed first. */
function remember(recent: Map<string, number>, runId: string): void {
  recent.delete(runId);
  recent.set(runId, Date.now());
  for (const id of recent.keys()) {
    if (recent.size <= REMEMBERED_RUNS) return;
    recent.delete(id);
  }
}
