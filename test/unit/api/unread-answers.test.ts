/** Which connections are closed when a client does not read. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';

import { UnreadAnswers } from '../../../api/unread-answers.ts';

const MEBIBYTE = 1024 * 1024;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('downloads that go on stay, though what they hold does not become less', () => {
  const unread = new UnreadAnswers(pino({ level: 'silent' }));
  const cut: string[] = [];
  let takenBytes = 0;
  for (let index = 0; index < 80; index += 1)
    unread.add('ann', { held: () => MEBIBYTE / 8, taken: () => takenBytes, cut: () => cut.push('download') });
  jest.advanceTimersByTime(2_000);
  unread.add('ann', { held: () => 60 * MEBIBYTE, taken: () => 0, cut: () => cut.push('stalled') });
  for (let seconds = 0; seconds < 8; seconds += 0.5) {
    takenBytes += MEBIBYTE;
    jest.advanceTimersByTime(500);
  }
  unread.stop();
  expect(new Set(cut)).toEqual(new Set(['stalled']));
});
