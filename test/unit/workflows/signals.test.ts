import { expect, test } from '@jest/globals';
import type { RunSignal } from '../../../contracts/temporal.ts';
import type { Execution } from '../../../workflows/interpreter/execution.ts';
import { initialState } from '../../../workflows/interpreter/state.ts';
import { receive } from '../../../workflows/signals.ts';

function setUp(state = initialState(null)) {
  const acks: string[] = [];
  const events: string[] = [];
  const execution = {
    start: { run_id: 'run' },
    state,
    children: new Map(),
    asked: new Set<string>(),
    awaited: new Map<string, { done?: true } | null>(),
    early: new Set<string>(),
    wakes: [] as string[],
    noteWake: (key: string) => execution.wakes.push(key),
    unasked: [] as string[],
    noteUnasked: ({ task_id: task }: { task_id: string }) => execution.unasked.push(task),
    event: (_type: string, key: string) => key,
    journal: { ack: (id: string) => acks.push(id), add: (key: string) => events.push(key) },
  };
  // The parts of a run that signals touch.
  return {
    execution,
    state,
    acks,
    events,
    take: (signal: unknown) => receive(execution as unknown as Execution, signal, () => {}),
  };
}

const decision = (id: string, task: string): RunSignal => ({
  id,
  run_id: 'run',
  kind: 'hitl.decision',
  task_id: task,
  decision_id: id,
  decision: 'approve',
  payload: null,
  comment: null,
  decided_by: null,
  decided_at: '',
});

test('a signal that nobody awaits is acknowledged and logged, but not kept in the state', () => {
  const { execution, state, acks, events, take } = setUp();
  execution.asked.add('asked');
  execution.children.set('awaited', {});
  take(decision('1', 'asked'));
  take(decision('2', 'expired'));
  take({ id: '3', run_id: 'run', kind: 'child.done', child_run_id: 'awaited', status: 'completed' });
  take({ id: '4', run_id: 'run', kind: 'child.done', child_run_id: 'unawaited', status: 'completed' });
  expect(acks).toEqual(['1', '2', '3', '4']);
  expect(events).toEqual(['decision:1', 'decision:2', 'child:awaited', 'child:unawaited']);
  expect([Object.keys(state.decisions), Object.keys(state.children)]).toEqual([['asked'], ['awaited']]);
  expect(execution.unasked).toEqual(['expired']);
});

test('a signal that overtakes the wait of its call is kept for it', () => {
  const { execution, take } = setUp();
  execution.awaited.set('waits', {}).set('calls', null);
  for (const key of ['waits', 'calls', 'unknown']) take({ id: key, run_id: 'run', kind: 'call.done', key });
  expect(execution.awaited.get('waits')).toEqual({ done: true });
  expect([[...execution.early], execution.wakes]).toEqual([['calls'], ['calls', 'unknown']]);
});

test('an old command that arrives again has no effect, however many decisions came in between', () => {
  const { state, acks, take } = setUp();
  take({ id: 'c1', run_id: 'run', kind: 'suspend', by: null, at: '' });
  take({ id: 'c2', run_id: 'run', kind: 'resume', by: null, at: '' });
  for (let i = 0; i < 1_500; i++) take(decision(`d${i}`, 'expired'));
  take({ id: 'c1', run_id: 'run', kind: 'suspend', by: null, at: '' });
  expect(state.suspended).toBe(false);
  expect(acks.at(-1)).toBe('c1');
});

test('a command has no effect if newer ones came before it, however many', () => {
  const { state, events, take } = setUp();
  const id = (n: number): string => `c${String(n).padStart(4, '0')}`;
  const command = (n: number): unknown => {
    const kind = n % 2 === 0 ? 'suspend' : 'resume';
    return { id: id(n), run_id: 'run', kind, by: null, at: '' };
  };
  take(command(3));
  take(command(2));
  expect([state.suspended, events]).toEqual([false, []]);
  for (let n = 4; n < 1_504; n++) take(command(n));
  const before = events.length;
  take(command(4));
  expect([state.suspended, events.length]).toEqual([false, before]);
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'cancel'],
  ['a signal of another run', { ...decision('1', 'asked'), run_id: 'another' }],
  ['a signal of no run', { ...decision('1', 'asked'), run_id: undefined }],
  ['a kind that is not known', { ...decision('1', 'asked'), kind: 'toString' }],
  ['no id', { ...decision('1', 'asked'), id: 7 }],
])('%s is refused and not acknowledged', (_what, received) => {
  const { execution, state, acks, events, take } = setUp();
  execution.asked.add('asked');
  expect(take(received)).toBe(false);
  expect([acks, events, state.seen, Object.keys(state.decisions)]).toEqual([[], [], [], []]);
});

test('a repeated signal has no second effect, not even in the next execution', () => {
  const first = setUp();
  first.take({ id: '1', run_id: 'run', kind: 'suspend', by: null, at: '' });
  first.take({ id: '2', run_id: 'run', kind: 'resume', by: null, at: '' });
  const next = setUp(JSON.parse(JSON.stringify(first.state)) as typeof first.state);
  next.take({ id: '1', run_id: 'run', kind: 'suspend', by: null, at: '' });
  expect([next.state.suspended, next.events, next.acks]).toEqual([false, [], ['1']]);
});
