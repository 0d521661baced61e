/** Texts of the log that depend on what they are about. */
import { expect, test } from '@jest/globals';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';

test('a lost call is said to count only where there is something to count', () => {
  const { callLost } = LOG_TEXT.agentWarning;
  const lost = 'ask: the worker of a call of the agent scorer was lost, and the call is made again.';
  expect(callLost('ask', 'scorer', false)).toBe(lost);
  const counted = ' Both count in usage, costs and budgets, the lost one by its estimate.';
  expect(callLost('ask', 'scorer', true)).toBe(`${lost}${counted}`);
});
