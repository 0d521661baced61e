/**
 * Child runs are ordinary runs: an activity inserts the row and starts the run. Its end arrives as the signal
 * `child.done`; what it waits for is also shown by this run.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import type { CreateChildRunInput } from '../../../contracts/activities.ts';
import { standardError } from '../../../contracts/dsl-error.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { writing } from '../activities.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { DslFault, faultOfActivity, RunClosed } from '../fault.ts';
import { workflowUuid } from '../ids.ts';
import type { Frame } from '../state.ts';

type Child = NonNullable<Frame['child']>;

/** `rightsOf`: the user with whose rights the workflow is found. Default: those of this run. */
export async function runChild(
  execution: Execution,
  task: Task,
  workflow: CreateChildRunInput['workflow'],
  input: unknown,
  rightsOf?: string,
): Promise<Outcome> {
  const child = newChild(task, input);
  // Register the child before it is created, because signals about its waits may arrive earlier.
  execution.children.set(child.id, child);
  try {
    if (!child.created) await create(execution, task, child, { workflow, rightsOf });
    await execution.waiting(task, child.waiting_on, () =>
      execution.until(() => !execution.state.suspended && Object.hasOwn(execution.state.children, child.id)),
    );
  } catch (error) {
    if (isCancellation(error) && child.created) await cancel(execution, task, child.id);
    throw error;
  } finally {
    execution.children.delete(child.id);
  }
  try {
    return await finish(execution, task, child.id);
  } finally {
    delete execution.state.children[child.id];
  }
}

export function newChild(task: Task, input: unknown): Child {
  return (task.frame.child ??= {
    id: workflowUuid(),
    created: false,
    input,
    waiting_on: [],
    waiting_counter: 0,
  });
}

/** Starts a run without waiting for it; the end of this run does not affect it. */
export async function startChild(
  execution: Execution,
  task: Task,
  workflow: CreateChildRunInput['workflow'],
  input: unknown,
): Promise<string> {
  const child = newChild(task, input);
  child.detached = true;
  if (!child.created) await create(execution, task, child, { workflow });
  // After continue-as-new in the middle of this task, the child was registered as awaited.
  execution.children.delete(child.id);
  delete execution.state.children[child.id];
  return child.id;
}

interface Creation {
  workflow: CreateChildRunInput['workflow'];
  rightsOf?: string | undefined;
  /** It was created before Temporal was restored to an earlier time. */
  isAdopted?: boolean;
}

/** Creates the child's run; a completed child of the retried run takes its place. */
async function create(
  execution: Execution,
  task: Task,
  child: Child,
  { workflow, rightsOf, isAdopted = false }: Creation,
): Promise<void> {
  const { id, input, detached, retry_of, agent } = child;
  const event = execution.taskEvent(
    task,
    EVENT.childCreated,
    'child-created',
    LOG_TEXT.childCreated.byTask(task.name, id),
    {
      data: { child_run_id: id },
    },
  );
  const request = {
    run_id: execution.start.run_id,
    child_run_id: id,
    task: task.ref,
    workflow,
    input,
    ...(typeof agent?.data['agent_id'] === 'string' ? { agent_id: agent.data['agent_id'] } : {}),
    ...(detached === undefined ? {} : { detached }),
    ...(retry_of === undefined ? {} : { retry_of }),
    ...(rightsOf === undefined ? {} : { rights_of: rightsOf }),
    ...(isAdopted ? { adopted: true as const } : {}),
  };
  try {
    const { closed, completed, before, done } = await execution.journal.carry(
      { strand: task.env.strand, input: request, extra: [event] },
      (batch) => writing((activities) => activities.createChildRun({ ...request, batch })),
    );
    if (closed) throw new RunClosed();
    if (before !== undefined) {
      // First registered, then asked for: its end arrives by one of the two ways.
      execution.children.delete(id);
      child.id = before;
      execution.children.set(before, child);
      return await create(execution, task, child, { workflow, rightsOf, isAdopted: true });
    }
    child.created = true;
    if (done !== undefined) execution.state.children[id] = done;
    if (completed && retry_of !== undefined) {
      execution.children.delete(id);
      child.id = retry_of;
      execution.state.children[retry_of] = { child_run_id: retry_of, status: 'completed' };
    }
  } catch (error) {
    throw faultOfActivity(error, task.ref) ?? error;
  }
}

async function cancel(execution: Execution, task: Task, id: string): Promise<void> {
  await CancellationScope.nonCancellable(() =>
    execution.journal.carry({ strand: task.env.strand }, (batch) =>
      writing((activities) =>
        activities.cancelChildRun({ run_id: execution.start.run_id, batch, child_run_id: id }),
      ),
    ),
  );
}

async function finish(execution: Execution, task: Task, id: string): Promise<Outcome> {
  const done = execution.state.children[id];
  if (!done) throw new Error(`no result of child run ${id}`);
  const data = { child_run_id: id };
  if (done.status === 'completed') {
    const { output } = await execution.journal.carry({ strand: task.env.strand }, (batch) =>
      writing((activities) =>
        activities.readChildOutput({ run_id: execution.start.run_id, batch, child_run_id: id }),
      ),
    );
    return { output, data, ...(done.usage ? { childUsage: done.usage } : {}) };
  }
  const error =
    done.status === 'faulted' && done.error
      ? { ...done.error, instance: task.ref }
      : standardError('runtime', `The child run ${id} was cancelled`, { instance: task.ref });
  throw Object.assign(new DslFault(error), done.usage ? { childUsage: done.usage } : {});
}
