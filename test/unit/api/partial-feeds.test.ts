/** Workers send what calls produce to those who listen: they must not hear of a follower before. */
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createPartialFeeds } from '../../../api/streams/partial-feeds.ts';
import type { EntityManager } from '../../../db/orm.ts';

test('a run counts as followed, and its stream begins, only when this process listens', async () => {
  const listening = Promise.withResolvers<void>();
  const noted = Promise.withResolvers<unknown>();
  let notes = 0;
  const execute = async (_sql: string, [, ids]: unknown[]): Promise<void> => {
    notes += 1;
    noted.resolve(ids);
  };
  let asked = 0;
  const askedTwice = Promise.withResolvers<void>();
  const feeds = createPartialFeeds({
    // All that it asks of the database.
    fork: () => ({ execute }) as unknown as EntityManager,
    logger: pino({ level: 'silent' }),
    runEvents: {
      takePartials() {
        asked += 1;
        if (asked === 2) askedTwice.resolve();
        return listening.promise;
      },
    },
  });
  let isReady = false;
  const ready = feeds.ready().then(() => {
    isReady = true;
  });
  const feed = feeds.join('the-run', () => {});
  // For the stream, and before the follower is noted.
  await askedTwice.promise;
  await new Promise(setImmediate);
  expect([isReady, notes]).toEqual([false, 0]);
  listening.resolve();
  await ready;
  expect(await noted.promise).toBe('{"the-run"}');
  feed.close();
  feeds.stop();
});
