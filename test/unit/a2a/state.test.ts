import { expect, test } from '@jest/globals';

import type { RunEnd } from '../../../contracts/run-events.ts';
import { stateOfEnd, stateOfRun } from '../../../domain/a2a/state.ts';

test.each([
  ['pending', false, 'TASK_STATE_SUBMITTED'],
  ['running', false, 'TASK_STATE_WORKING'],
  ['waiting', false, 'TASK_STATE_WORKING'],
  ['waiting', true, 'TASK_STATE_INPUT_REQUIRED'],
  ['suspended', false, 'TASK_STATE_WORKING'],
] as const)('a run that is %s, and asks people: %s, is %s', (status, asks, state) => {
  expect(stateOfRun({ status, asks })).toBe(state);
});

const rejection = { decision: 'reject', decided_by: 'ann', decided_at: '2026-11-22T12:00:00Z' };
const failed = (type: string): RunEnd => ({ status: 'faulted', error: { type, status: 500 } });

test.each<[string, RunEnd, string]>([
  ['a cancelled run', { status: 'cancelled' }, 'TASK_STATE_CANCELED'],
  ['any output', { status: 'completed', output: 'done' }, 'TASK_STATE_COMPLETED'],
  ['no output', { status: 'completed', output: null }, 'TASK_STATE_COMPLETED'],
  ["a person's rejection", { status: 'completed', output: rejection }, 'TASK_STATE_REJECTED'],
  [
    'an approval',
    { status: 'completed', output: { ...rejection, decision: 'approve' } },
    'TASK_STATE_COMPLETED',
  ],
  [
    'a rejection by nobody',
    { status: 'completed', output: { ...rejection, decided_by: null } },
    'TASK_STATE_COMPLETED',
  ],
  ['the word alone', { status: 'completed', output: { decision: 'reject' } }, 'TASK_STATE_COMPLETED'],
  ['a refusal', failed('https://example.org/errors/authorization'), 'TASK_STATE_REJECTED'],
  ['a refusal with a slash', failed('https://example.org/errors/authorization/'), 'TASK_STATE_REJECTED'],
  ['another error', failed('https://example.org/errors/runtime'), 'TASK_STATE_FAILED'],
  ['no error', { status: 'faulted', error: null }, 'TASK_STATE_FAILED'],
])('the end with %s', (_, end, state) => {
  expect(stateOfEnd(end)).toBe(state);
});
