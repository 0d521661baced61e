import { expect, test } from '@jest/globals';
import type { RunSignal } from '../../../contracts/temporal.ts';
import type { Execution } from '../../../workflows/interpreter/execution.ts';
import { initialState } from '../../../workflows/interpreter/state.ts';
import { receive } from '../../../workflows/signals.ts';

function setUp() {
  const state = initialState(null);
  const acks: string[] = [];
  const events: string[] = [];
  const x = {
    state,
    children: new Map(),
    asked: new Set<string>(),
    event: (_type: string, key: string) => key,
    journal: { ack: (id: string) => acks.push(id), add: (key: string) => events.push(key) },
  };
  // The parts of a run that signals touch.
  return { x, state, acks, events, take: (signal: RunSignal) => receive(x as unknown as Execution, signal, () => {}) };
}

const decision = (id: string, task: string): RunSignal => ({
  id, kind: 'hitl.decision', task_id: task, decision_id: id, decision: 'approve', payload: null, comment: null, decided_by: null, decided_at: '',
});

test('what nobody waits for is acknowledged and logged, and not kept: the state goes from execution to execution', () => {
  const { x, state, acks, events, take } = setUp();
  x.asked.add('asked');
  x.children.set('awaited', {});
  take(decision('1', 'asked'));
  take(decision('2', 'expired'));
  take({ id: '3', kind: 'child.done', child_run_id: 'awaited', status: 'completed' });
  take({ id: '4', kind: 'child.done', child_run_id: 'unawaited', status: 'completed' });
  expect(acks).toEqual(['1', '2', '3', '4']);
  expect(events).toEqual(['decision:1', 'decision:2', 'child:awaited', 'child:unawaited']);
  expect([Object.keys(state.decisions), Object.keys(state.children)]).toEqual([['asked'], ['awaited']]);
});
