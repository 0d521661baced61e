/** A client that follows the events of its runs as a stream, and continues where it was after each break. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openStream } from '../../support/sse-client.ts';

export interface Follower {
  /** Ids of the events, as they came. */
  ids: string[];
  /** How often it has connected. */
  connections: number;
  stop(): Promise<void>;
}

const LOOK_MS = 200;
const PAUSE_MS = 1_000;
const CONNECT_MS = 10_000;
/** Longer than two heartbeats: the other side is gone, and nobody says so. */
const SILENT_MS = 40_000;

export function followEvents(deps: { urls: readonly string[]; token: string; types: string }): Follower {
  const { urls, token, types } = deps;
  let stopped = false;
  let position = '';
  const follower: Omit<Follower, 'stop'> = { ids: [], connections: 0 };
  const follow = async (): Promise<void> => {
    const url = `${urls[Math.floor(Math.random() * urls.length)]}/events?types=${types}`;
    const headers = {
      authorization: `Bearer ${token}`,
      ...(position === '' ? {} : { 'last-event-id': position }),
    };
    const connecting = openStream(url, { headers });
    const stream = await Promise.race([connecting, sleep(CONNECT_MS, null)]);
    if (stream === null) {
      void connecting.then(
        (late) => late.drop(),
        () => {},
      );
      return;
    }
    follower.connections += 1;
    let isOver = false;
    void stream.ended.then(() => (isOver = true));
    const take = (): number => {
      position = stream.lastId || position;
      const events = stream.events.splice(0);
      for (const { data } of events) if (typeof data?.id === 'string') follower.ids.push(data.id);
      return events.length + stream.comments;
    };
    let [heard, heardAt] = [0, Date.now()];
    while (!isOver && !stopped && Date.now() - heardAt < SILENT_MS) {
      await sleep(LOOK_MS);
      const now = take();
      if (now !== heard) heardAt = Date.now();
      // Events are taken, comments counted.
      heard = stream.comments;
    }
    take();
    stream.drop();
  };
  const done = (async () => {
    while (!stopped) {
      await follow().catch(() => {});
      await sleep(PAUSE_MS);
    }
  })();
  return Object.assign(follower, {
    stop: async () => {
      stopped = true;
      await done;
    },
  });
}
