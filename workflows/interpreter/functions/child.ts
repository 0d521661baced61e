/**
 * Child runs are ordinary runs: an activity inserts the row and starts it. Its end comes as the signal `child.done`;
 * what it waits for shows here too.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { CreateChildRunInput } from '../../../contracts/activities.ts';
import { standardError } from '../../../contracts/dsl-error.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { writing } from '../activities.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { DslFault, faultOfActivity, RunClosed } from '../fault.ts';
import { workflowUuid } from '../ids.ts';
import type { Frame } from '../state.ts';

export async function runChild(x: Execution, task: Task, workflow: CreateChildRunInput['workflow'], input: unknown): Promise<Outcome> {
  const child = newChild(task, input);
  // Before it is made: what it waits for may be told sooner than that.
  x.children.set(child.id, child);
  try {
    if (!child.created) {
      await create(x, task, child.id, workflow, child.input);
      child.created = true;
    }
    await x.waiting(task, child.waiting_on, () => x.until(() => !x.state.suspended && Object.hasOwn(x.state.children, child.id)));
  } catch (error) {
    if (isCancellation(error) && child.created) await cancel(x, child.id);
    throw error;
  } finally {
    x.children.delete(child.id);
  }
  try {
    return await finish(x, task, child.id);
  } finally {
    delete x.state.children[child.id];
  }
}

export function newChild(task: Task, input: unknown): NonNullable<Frame['child']> {
  return (task.frame.child ??= { id: workflowUuid(), created: false, input, waiting_on: [], waiting_counter: 0 });
}

/** Starts a run and goes on without it. */
export async function startChild(x: Execution, task: Task, workflow: CreateChildRunInput['workflow'], input: unknown): Promise<string> {
  const child = newChild(task, input);
  if (!child.created) await create(x, task, child.id, workflow, child.input);
  child.created = true;
  // One that is met half way after continue-as-new was taken for awaited.
  x.children.delete(child.id);
  delete x.state.children[child.id];
  return child.id;
}

async function create(x: Execution, task: Task, id: string, workflow: CreateChildRunInput['workflow'], input: unknown): Promise<void> {
  const event = x.taskEvent(task, EVENT.childCreated, 'child-created', `${task.name}: child run ${id}`, { data: { child_run_id: id } });
  const request = { run_id: x.start.run_id, child_run_id: id, task: task.ref, workflow, input };
  try {
    const { closed } = await x.journal.carry((batch) => writing((activities) => activities.createChildRun({ ...request, batch })), [event]);
    if (closed) throw new RunClosed();
  } catch (error) {
    throw faultOfActivity(error, task.ref) ?? error;
  }
}

async function cancel(x: Execution, id: string): Promise<void> {
  await CancellationScope.nonCancellable(() =>
    x.journal.carry((batch) => writing((activities) => activities.cancelChildRun({ run_id: x.start.run_id, batch, child_run_id: id }))),
  );
}

async function finish(x: Execution, task: Task, id: string): Promise<Outcome> {
  const done = x.state.children[id];
  if (!done) throw new Error(`no result of child run ${id}`);
  const data = { child_run_id: id };
  if (done.status === 'completed') {
    const { output } = await x.journal.carry((batch) =>
      writing((activities) => activities.readChildOutput({ run_id: x.start.run_id, batch, child_run_id: id })),
    );
    return { output, data };
  }
  if (done.status === 'faulted' && done.error) throw new DslFault({ ...done.error, instance: task.ref });
  throw new DslFault(standardError('runtime', `The child run ${id} was cancelled`, { instance: task.ref }));
}
