/** What signals do to a run. Each comes at least once; one that was seen is only acknowledged again. */
import { EVENT } from '../contracts/run-events.ts';
import type { RunSignal } from '../contracts/temporal.ts';
import type { Execution } from './interpreter/execution.ts';

/** Repeats come within minutes of each other; more than so many in between cannot be. */
const REMEMBERED = 1_000;

export function receive(x: Execution, signal: RunSignal, cancel: () => void): void {
  const { state, journal } = x;
  journal.ack(signal.id);
  if (state.seen.includes(signal.id)) return;
  state.seen.push(signal.id);
  if (state.seen.length > REMEMBERED) state.seen.shift();
  switch (signal.kind) {
    case 'hitl.decision': {
      const { id, kind: _, ...decision } = signal;
      if (x.asked.has(decision.task_id)) state.decisions[decision.task_id] = decision;
      journal.add(
        x.event(EVENT.decisionReceived, `decision:${id}`, `Decision received: ${decision.decision}`, {
          data: { hitl_task_id: decision.task_id, decision_id: decision.decision_id, decision: decision.decision },
        }),
      );
      return;
    }
    case 'child.done': {
      const { id: _id, kind: _kind, ...done } = signal;
      // Nobody waits for one that was started with `await: false`.
      if (x.children.has(done.child_run_id)) state.children[done.child_run_id] = done;
      journal.add(
        x.event(EVENT.childDone, `child:${done.child_run_id}`, `Child run ${done.child_run_id} ${done.status}`, {
          level: done.status === 'completed' ? 'info' : 'warn',
          data: { child_run_id: done.child_run_id, status: done.status },
        }),
      );
      return;
    }
    case 'child.waiting': {
      const child = x.children.get(signal.child_run_id);
      if (!child || signal.counter <= child.waiting_counter) return;
      child.waiting_counter = signal.counter;
      child.waiting_on.splice(0, child.waiting_on.length, ...signal.waiting_on);
      return;
    }
    case 'cancel':
      journal.add(
        x.event(EVENT.cancelRequested, `cancel:${signal.id}`, `Cancellation requested${signal.reason ? `: ${signal.reason}` : ''}`, {
          level: 'warn',
          data: { by: signal.by },
        }),
      );
      cancel();
      return;
    case 'suspend':
      if (state.suspended) return;
      state.suspended = true;
      journal.add(x.event(EVENT.runSuspended, `suspend:${signal.id}`, 'Run suspended', { data: { name: x.qualifiedName, suspendedAt: signal.at, by: signal.by } }));
      return;
    case 'resume':
      if (!state.suspended) return;
      state.suspended = false;
      journal.add(x.event(EVENT.runResumed, `resume:${signal.id}`, 'Run resumed', { data: { name: x.qualifiedName, resumedAt: signal.at, by: signal.by } }));
      return;
  }
}
