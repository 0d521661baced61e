/**
 * An agent elsewhere asks for something: a person here answers by a human task, and the same remote task goes on with the
 * answer, until it has an output. What it asks is data: nothing of it is evaluated.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { Invoked, NewHumanTask, RemoteReply } from '../../../contracts/activities.ts';
import type { Execution, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import type { RemoteFrame } from '../state.ts';
import { applied, askPerson, humanFrame } from './ask-person.ts';

const MAX_ROUNDS = 25;
const PRIORITY = 50;

export interface RemoteCalls {
  call(more: { round: number; reply: RemoteReply }): Promise<Invoked>;
  /** Ends the remote task. */
  cancel(more: { round: number; reply: RemoteReply }): Promise<void>;
}

/** `first` is null where the frame already holds a question. */
export async function answerRemote(x: Execution, task: Task, first: Invoked | null, calls: RemoteCalls): Promise<Invoked> {
  let result = first;
  for (;;) {
    if (result) {
      const { ask } = result;
      if (!ask) return result;
      const round = (task.frame.remote?.round ?? 0) + 1;
      task.frame.remote = { round, ask, human: humanFrame() };
    }
    const { remote } = task.frame;
    if (!remote) throw new Error('no question');
    if (remote.round > MAX_ROUNDS) {
      await cancelQuietly(remote, calls);
      throw fault('runtime', `${task.name} asked more than ${MAX_ROUNDS} times`, task.ref);
    }
    remote.decision ??= await decide(x, task, remote, calls);
    await x.gate();
    const { round, decision } = remote;
    result = await calls.call({ round, reply: { remote: remote.ask.remote, decision } });
  }
}

async function decide(x: Execution, task: Task, remote: RemoteFrame, calls: RemoteCalls): Promise<NonNullable<RemoteReply['decision']>> {
  try {
    const decided = await askPerson(x, task, remote.human, {
      task: ({ id }) => humanTask(x, task, remote, id),
      marks: [],
      onExpiry: 'fault',
      round: remote.round,
    });
    applied(x, task, decided);
    const { decision, payload, comment } = decided;
    return { decision, payload, comment };
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => cancelQuietly(remote, calls));
    throw error;
  }
}

/** The remote task's end is a courtesy: whatever becomes of it, this branch ends as it must. */
async function cancelQuietly({ round, ask }: RemoteFrame, calls: RemoteCalls): Promise<void> {
  try {
    await calls.cancel({ round, reply: { remote: ask.remote, decision: null } });
  } catch {
    // Told as far as it goes.
  }
}

/** For who owns the run, as for any human task that names nobody. */
function humanTask(x: Execution, task: Task, { ask }: RemoteFrame, id: string): NewHumanTask {
  return {
    id,
    run_id: x.start.run_id,
    task: task.ref,
    task_name: task.name,
    title: ask.title,
    description: ask.description,
    subject: ask.subject,
    form_schema: ask.form_schema,
    decisions: ask.decisions,
    assignee: null,
    candidates: { users: [], roles: [], groups: [] },
    priority: PRIORITY,
    due_at: null,
    expires_at: null,
    quorum: null,
  };
}
