import { expect, test } from '@jest/globals';

import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import { EVENT, type RunProjection, type WaitingOn } from '../../../contracts/run-events.ts';
import { projectionColumns } from '../../../domain/runs/projection-columns.ts';

const human = (id?: string): WaitingOn => ({ kind: 'human', task: '/do/0/a', ...(id ? { id } : {}) });
const timer: WaitingOn = { kind: 'timer', task: '/do/0/t', until: '2026-11-22T12:00:00Z' };
const columns = (status: RunProjection['status'], waits: WaitingOn[] = []) =>
  projectionColumns('r', { counter: 7, status, waiting_on: waits, waiting_count: waits.length });

test('a run that waits for people asks them, and shows its parent the same waits', () => {
  const waits = [human('b'), timer, human('a')];
  expect(columns('waiting', waits)).toMatchObject({
    status: 'waiting',
    waiting_on: waits,
    asked: ['a', 'b'],
    asked_event: {
      key: 'people:7',
      type: EVENT.runInputRequired,
      message: LOG_TEXT.runInputRequired(),
      data: { hitl_task_ids: ['a', 'b'] },
    },
    a2a_state: 'TASK_STATE_INPUT_REQUIRED',
    a2a_state_by_subject: { credential_request: 'TASK_STATE_AUTH_REQUIRED' },
    paused: false,
    parent_signal: {
      kind: 'child.waiting',
      payload: { child_run_id: 'r', waiting_on: [human('b'), human('a')], counter: 7 },
    },
  });
});

test('a run that waits for other things asks nobody', () => {
  expect(columns('waiting', [timer])).toMatchObject({
    asked: [],
    asked_event: { type: EVENT.runInputReceived, message: LOG_TEXT.runInputReceived() },
    a2a_state: 'TASK_STATE_WORKING',
    parent_signal: { payload: { waiting_on: [] } },
  });
});

test('a suspended run asks nobody, whatever it waits for, and shows as paused', () => {
  expect(columns('suspended', [human('a')])).toMatchObject({
    asked: [],
    a2a_state: 'TASK_STATE_WORKING',
    paused: true,
    parent_signal: { payload: { waiting_on: [] } },
  });
});

test('each signal to a parent has an id of its own', () => {
  expect(columns('running').parent_signal.id).not.toBe(columns('running').parent_signal.id);
});
