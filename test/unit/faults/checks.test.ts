/** The checks of the long fault run: each has to find what it is for. */
import { expect, test } from '@jest/globals';
import { EVENT } from '../../../contracts/run-events.ts';
import { checkAll, type Flaw } from '../../faults/long-run/checks.ts';
import type { Evidence, RunRow } from '../../faults/long-run/evidence.ts';
import type { Decision, SentEvent, Start } from '../../faults/long-run/load.ts';

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

const runRow = (id: string, workflow: string, more: Partial<RunRow> = {}): RunRow => ({
  id,
  workflow,
  op: `op-${id}`,
  status: 'completed',
  error: null,
  output: {},
  parent_run_id: null,
  detached: false,
  scheduled_at: null,
  started_by: null,
  last_seq: 2,
  created_at: 5_000,
  finished_at: 6_000,
  listed_status: more.status ?? 'completed',
  ...more,
});
const start = (id: string, kind: Start['kind'], more: Partial<Start> = {}): Start => ({
  op: `op-${id}`,
  kind,
  outcome: 'accepted',
  runIds: [id],
  ...more,
});
const sent = (op: string, type: SentEvent['type'], n: number, ids: string[]): SentEvent => ({
  op,
  type,
  n,
  outcome: 'accepted',
  ids,
});
const decision = (comment: string, outcome: Decision['outcome']): Decision => ({
  taskId: 'task',
  decision: 'approve',
  comment,
  outcome,
});

/** A small load in which all is well, made anew for each test. */
function wellBehaved() {
  const runs = [
    runRow('long', 'long', { output: { nonces: [0] } }),
    runRow('asked', 'expiring', { output: { decision: 'approve', comment: 'mine' }, last_seq: 3 }),
    runRow('heard', 'listening', { output: { order: [0, 1, 2] } }),
    runRow('parent', 'parent'),
    ...['a', 'b', 'c'].map((id) => runRow(id, 'child', { op: null, parent_run_id: 'parent' })),
    runRow('ended', 'cancelled', { status: 'cancelled' }),
    runRow('spark', 'spark', { op: null, started_by: ['event'] }),
    runRow('timed', 'clock', { op: null, scheduled_at: 3_000 }),
  ];
  const events = runs.flatMap(({ id, status, last_seq }) => [
    { run_id: id, seq: 1, type: EVENT.runStarted as string },
    ...(last_seq === 3 ? [{ run_id: id, seq: 2, type: EVENT.decisionApplied as string }] : []),
    { run_id: id, seq: last_seq, type: status === 'cancelled' ? EVENT.runCancelled : EVENT.runCompleted },
  ]);
  const effects = ['op-long/call', ...[0, 1, 2].map((n) => `op-heard/event-${n}`)];
  effects.push('op-parent/a/work', 'op-parent/b/work', 'op-parent/detached/work');
  const calls = effects.map((effect, nonce) => ({ key: `key-${nonce}`, effect, nonce, at: 1_000 + nonce }));
  const evidence = {
    ledger: {
      starts: [
        start('long', 'long'),
        start('asked', 'expiring'),
        start('heard', 'listening'),
        start('parent', 'parent'),
        start('ended', 'cancelled', { cancel: 'accepted' }),
        start('none', 'long', { outcome: 'refused', runIds: [] }),
      ],
      decisions: [decision('mine', 'accepted'), decision('yours', 'refused')],
      events: [
        ...[0, 1, 2].map((n) => sent('op-heard', 'faults.step', n, [`step-${n}`])),
        sent('op-spark', 'faults.spark', 0, ['event']),
      ],
      seen: { statuses: { 200: 9 }, odd: [] as string[], oddCount: 0 },
      refusals: [] as string[],
    },
    runs,
    events,
    hooked: ['long:1', 'long:2', 'asked:1'],
    tasks: [
      { id: 'task', run_id: 'asked', status: 'decided', decision: 'approve', comment: 'mine', applied: true },
    ],
    invocations: calls.map(({ key, nonce, at }) => ({ run_id: 'long', key, finished_at: at + 10, nonce })),
    logged: calls.map(({ nonce }) => nonce),
    children: ['a', 'b', 'c'].map((id) => ({ run_id: 'parent', child_run_id: id, status: 'completed' })),
    schedules: [
      {
        name: 'clock',
        everyMs: 3_000,
        overlaps: false,
        from: 1,
        // That of 12,000 passes while that of 9,000 waits.
        to: 12_000,
        runs: [3_000, 9_000],
        notes: [
          { at: 6_000, outcome: 'skipped', detail: 'An earlier run has not ended.', decided_at: 6_100 },
          { at: 9_000, outcome: 'started', detail: null, decided_at: 12_500 },
        ],
      },
    ],
    leftOver: [] as string[],
    calls,
    receipts: ['long:1', 'long:1', 'long:2', 'asked:1'].map((id, at) => ({ id, at })),
    streamed: ['long:1', 'long:2', 'long:2', 'asked:1'],
    connections: 2,
    audit: { problems: [] as string[], counts: { runWorkflow: 5, decideHumanTask: 1, cancelRun: 1 } },
    budget: { used: 5, reserved: 0, costUsd: 0.005, usage: 5, usageCostUsd: 0.005 },
    stats: { started: 10, completed: 9, faulted: 0, cancelled: 1 },
    exits: [{ role: 'api-1' as const, code: 0, signal: null, at: 1, livedMs: 1, expected: true }],
    disturbances: [{ from: 900, to: 1_100, text: 'kill -9 of worker-1' }],
  };
  return evidence satisfies Evidence;
}

type Planted = ReturnType<typeof wellBehaved>;
const found = (evidence: Evidence): [string, Flaw][] =>
  checkAll(evidence).flatMap(({ name, findings }) =>
    findings.map(({ flaw }): [string, Flaw] => [name, flaw]),
  );
const run = (evidence: Planted, id: string): Mutable<RunRow> => evidence.runs.find((each) => each.id === id)!;

test('a load in which all is well has no findings', () => {
  expect(found(wellBehaved())).toEqual([]);
});

test('a short call that timed out while something failed is no finding, and one at a quiet time is', () => {
  const evidence = wellBehaved();
  const late = { status: 'faulted', listed_status: 'faulted', error: { type: 'urn:errors/timeout' } };
  evidence.runs.push(runRow('slow', 'short', { ...late, created_at: 1_050, finished_at: 7_000 }));
  const ofEnds = (): unknown => found(evidence).filter(([name]) => name === 'ends of runs');
  expect(ofEnds()).toEqual([]);
  evidence.disturbances[0]!.to = 1_000;
  expect(ofEnds()).toEqual([['ends of runs', 'wrong']]);
});

test.each<[string, string, Flaw, (evidence: Planted) => unknown]>([
  ['an accepted start without a run', 'accepted starts', 'lost', (e) => (run(e, 'long').op = null)],
  ['a second run of a start', 'accepted starts', 'doubled', (e) => (run(e, 'a').op = 'op-long')],
  ['a run of a refused start', 'accepted starts', 'wrong', (e) => (run(e, 'a').op = 'op-none')],
  [
    'two answers to one start',
    'accepted starts',
    'wrong',
    (e) => (e.ledger.starts[0]!.runIds = ['long', 'x']),
  ],
  ['a run that never ends', 'ends of runs', 'stuck', (e) => (run(e, 'long').status = 'waiting')],
  ['a run that faults', 'ends of runs', 'wrong', (e) => (run(e, 'long').status = 'faulted')],
  ['a cancel without effect', 'ends of runs', 'wrong', (e) => (run(e, 'ended').status = 'completed')],
  ['another status in the API', 'ends of runs', 'wrong', (e) => (run(e, 'long').listed_status = 'running')],
  ['a gap in a log', 'events in logs', 'gap', (e) => e.events.splice(0, 1)],
  ['an end that is missing in a log', 'events in logs', 'gap', (e) => e.events.splice(1, 1)],
  ['a log that ends twice', 'events in logs', 'doubled', (e) => (e.events[0]!.type = EVENT.runCompleted)],
  ['a log without an end', 'events in logs', 'wrong', (e) => (e.events[1]!.type = EVENT.taskStarted)],
  ['a lost decision', 'decisions', 'lost', (e) => (e.tasks[0]!.comment = 'yours')],
  ['two accepted decisions', 'decisions', 'doubled', (e) => (e.ledger.decisions[1]!.outcome = 'accepted')],
  [
    'a refused decision that counts',
    'decisions',
    'wrong',
    (e) => (e.ledger.decisions[0]!.outcome = 'refused'),
  ],
  ['an accepted decision that expired', 'decisions', 'lost', (e) => (e.tasks[0]!.comment = null as never)],
  ['a decision that was not applied', 'decisions', 'lost', (e) => (e.tasks[0]!.applied = false)],
  [
    'another decision in the run',
    'decisions',
    'wrong',
    (e) => (run(e, 'asked').output = { decision: 'reject' }),
  ],
  [
    'a decision applied twice',
    'decisions',
    'doubled',
    (e) => e.events.push({ run_id: 'asked', seq: 4, type: EVENT.decisionApplied }),
  ],
  ['a lost effect', 'effects', 'lost', (e) => (e.calls[0]!.effect = 'other')],
  ['an effect under two keys', 'effects', 'doubled', (e) => (e.calls[1]!.effect = 'op-long/call')],
  ['a call without a record', 'calls by key', 'lost', (e) => e.invocations.pop()],
  ['a call after its outcome', 'calls by key', 'doubled', (e) => e.calls.push({ ...e.calls[0]!, at: 1_020 })],
  [
    'a repeat without a fault',
    'calls by key',
    'doubled',
    (e) => {
      e.disturbances[0]!.from = 1_005;
      e.calls.push({ ...e.calls[0]!, at: 1_002 });
    },
  ],
  ['the outcome of another call', 'outcomes of calls', 'wrong', (e) => (e.invocations[1]!.nonce = 0)],
  [
    'an answer that nobody gave',
    'outcomes of calls',
    'wrong',
    (e) => (run(e, 'long').output = { nonces: [77] }),
  ],
  [
    'a call without an outcome',
    'outcomes of calls',
    'lost',
    (e) => e.invocations.push({ ...e.invocations[0]!, key: 'x', nonce: null as never }),
  ],
  [
    'two outcomes of a call',
    'outcomes of calls',
    'doubled',
    (e) => {
      e.calls.push({ ...e.calls[0]!, nonce: 70 });
      e.logged.push(70);
    },
  ],
  ['an event stored twice', 'events sent in', 'doubled', (e) => (e.ledger.events[0]!.ids = ['one', 'two'])],
  ['an event that starts nothing', 'events sent in', 'lost', (e) => (run(e, 'spark').started_by = null)],
  ['an event that starts two runs', 'events sent in', 'doubled', (e) => (run(e, 'a').started_by = ['event'])],
  ['an event taken twice', 'events sent in', 'wrong', (e) => (run(e, 'heard').output = { order: [0, 0, 1] })],
  ['a time without a run', 'times of schedules', 'lost', (e) => e.schedules[0]!.notes.shift()],
  [
    'a time that passes though all before it were decided',
    'times of schedules',
    'lost',
    (e) => (e.schedules[0]!.notes[1]!.decided_at = 9_100),
  ],
  [
    'a time that is skipped though runs may overlap',
    'times of schedules',
    'lost',
    (e) => (e.schedules[0]!.overlaps = true),
  ],
  ['a time with two runs', 'times of schedules', 'doubled', (e) => e.schedules[0]!.runs.push(3_000)],
  ['a run of no time', 'times of schedules', 'wrong', (e) => e.schedules[0]!.runs.push(3_001)],
  ['a child that is not there', 'child runs', 'lost', (e) => (e.children[0]!.child_run_id = 'nobody')],
  ['a child that outlives its parent', 'child runs', 'stuck', (e) => (run(e, 'a').status = 'running')],
  ['a child that faulted unnoticed', 'child runs', 'wrong', (e) => (run(e, 'a').status = 'faulted')],
  ['a child too many', 'child runs', 'doubled', (e) => (run(e, 'spark').parent_run_id = 'parent')],
  ['an event that was not delivered', 'webhook events', 'lost', (e) => e.receipts.pop()],
  ['events delivered in another order', 'webhook events', 'wrong', (e) => e.hooked.reverse()],
  ['a delivery of nothing', 'webhook events', 'wrong', (e) => (e.hooked[2] = 'asked:2')],
  ['an event that a stream has skipped', 'events of streams', 'lost', (e) => e.streamed.splice(1, 2)],
  ['a stream in another order', 'events of streams', 'wrong', (e) => e.streamed.reverse()],
  ['a change without an entry', 'audit entries', 'lost', (e) => (e.audit.counts.cancelRun = 0)],
  ['two entries of a change', 'audit entries', 'doubled', (e) => (e.audit.counts.cancelRun = 2)],
  ['a broken chain', 'audit entries', 'wrong', (e) => e.audit.problems.push('Seal 1 was changed.')],
  ['a call that is not booked', 'calls in budgets', 'lost', (e) => (e.budget.used = 4)],
  ['a call that is booked twice', 'calls in budgets', 'doubled', (e) => (e.budget.used = 6)],
  ['another cost', 'calls in budgets', 'wrong', (e) => (e.budget.costUsd = 0.006)],
  ['a reservation that stays', 'calls in budgets', 'stuck', (e) => (e.budget.reserved = 1)],
  ['an end that is not counted', 'statistics of runs', 'lost', (e) => (e.stats.completed = 8)],
  ['an end that is counted twice', 'statistics of runs', 'doubled', (e) => (e.stats.completed = 10)],
  ['an open task of an ended run', 'left open', 'stuck', (e) => e.leftOver.push('human task 1 is open')],
  ['a 500', 'answers to clients', 'wrong', (e) => e.ledger.seen.odd.push('GET /runs: 500')],
  ['an unexpected refusal', 'answers to clients', 'wrong', (e) => e.ledger.refusals.push('404')],
  ['a process that ends by itself', 'ends of processes', 'wrong', (e) => (e.exits[0]!.expected = false)],
])('%s is found', (_what, check, flaw, plant) => {
  const evidence = wellBehaved();
  plant(evidence);
  expect(found(evidence)).toContainEqual([check, flaw]);
});
