/**
 * Handles questions of a remote agent: a person answers through a human task, and the remote task continues
 * with the answer, until it has an output. Its questions are data: nothing in them is evaluated.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { Invoked, NewHumanTask, RemoteReply } from '../../../contracts/activities.ts';
import type { Execution, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { framesOf, type AwaitedFrame, type RemoteFrame } from '../state.ts';
import { applied, askPerson, humanFrame } from './ask-person.ts';
import { tellNotNeeded } from './tell-not-needed.ts';

const MAX_ROUNDS = 25;
/** The round of the call that tells an agent that nobody waits for its outcome. */
export const WITHDRAWN = 1_000;
const PRIORITY = 50;

export interface RemoteCalls {
  call(more: { round: number; reply: RemoteReply }): Promise<Invoked>;
  /** Cancels the remote task. */
  cancel(more: { round: number; reply: RemoteReply }): Promise<void>;
}

/** `first` is null if the frame already holds a question. */
export async function answerRemote(
  execution: Execution,
  task: Task,
  first: Invoked | null,
  calls: RemoteCalls,
): Promise<Invoked> {
  let result = first;
  // After a continue-as-new: what the wait is for may have come before it.
  if (first === null && task.frame.remote?.ask.remote.budget?.waits) task.frame.remote.decision ??= AGAIN;
  for (;;) {
    if (result) {
      const { ask } = result;
      if (!ask) return result;
      const { round: last = 0, waited = 0 } = task.frame.remote ?? {};
      const round = last + 1 === WITHDRAWN ? last + 2 : last + 1;
      const more = ask.remote.budget?.waits ? waited + 1 : waited;
      task.frame.remote = { round, ask, human: humanFrame(), ...(more > 0 ? { waited: more } : {}) };
    }
    const { remote } = task.frame;
    if (!remote) throw new Error('no question');
    if (remote.round - (remote.waited ?? 0) > MAX_ROUNDS) {
      await cancel(execution, task, remote, calls);
      throw fault('runtime', `${task.name} asked more than ${MAX_ROUNDS} times`, task.ref);
    }
    remote.decision ??= await decideOnce(execution, task, remote, calls);
    await execution.gate();
    const { round, decision } = remote;
    result = await calls.call({ round, reply: { remote: remote.ask.remote, decision } });
  }
}

/** The questions about budgets that people are asked, by the budget. */
const openQuestions = new WeakMap<Execution, Map<string, RemoteFrame>>();
/** If the other branch ended before it was decided: the call asks again whether the budget allows it. */
const AGAIN = { decision: 'again', payload: null, comment: null };

/** Branches that find the same budget exceeded ask once, and the decision is for all of them. */
async function decideOnce(
  execution: Execution,
  task: Task,
  remote: RemoteFrame,
  calls: RemoteCalls,
): Promise<NonNullable<RemoteReply['decision']>> {
  const about = remote.ask.remote.budget;
  if (about === undefined) return decide(execution, task, remote, calls);
  if (about.waits)
    return waitForOthers(execution, task, about.waits, () => cancel(execution, task, remote, calls));
  const { subject_id: budget } = about;
  const questions = questionsOf(execution);
  const asked = remote.human.created ? undefined : questions.get(budget);
  if (asked) {
    await execution.waiting(task, [{ kind: 'human', task: task.ref, id: asked.human.id }], () =>
      execution.until(() => !execution.state.suspended && questions.get(budget) !== asked),
    );
    about.question = asked.human.id;
    return asked.decision ?? AGAIN;
  }
  questions.set(budget, remote);
  try {
    about.question = remote.human.id;
    remote.decision = await decide(execution, task, remote, calls);
    return remote.decision;
  } finally {
    if (questions.get(budget) === remote) questions.delete(budget);
  }
}

/** After a continue-as-new, those that are asked already. */
function questionsOf(execution: Execution): Map<string, RemoteFrame> {
  const known = openQuestions.get(execution);
  if (known) return known;
  const questions = new Map<string, RemoteFrame>();
  const { root, entry } = execution.state;
  for (const frames of [framesOf(root, 'open'), ...(entry ? [framesOf(entry, 'open')] : [])])
    for (const { remote } of frames) {
      const budget = remote?.ask.remote.budget;
      if (remote?.human.created && !remote.decision && budget) questions.set(budget.subject_id, remote);
    }
  openQuestions.set(execution, questions);
  return questions;
}

/** Another run asks: waits until the call may look again. */
async function waitForOthers(
  execution: Execution,
  task: Task,
  { key, until: lookAt }: NonNullable<NonNullable<RemoteFrame['ask']['remote']['budget']>['waits']>,
  cancel: () => Promise<void>,
): Promise<typeof AGAIN> {
  const until = Date.parse(lookAt);
  const frame: AwaitedFrame = { key, until, ...(execution.takeWake(key) ? { done: true } : {}) };
  execution.awaited.set(key, frame);
  try {
    await execution.waiting(task, [{ kind: 'timer', task: task.ref, until: lookAt }], () =>
      execution.until(
        () => !execution.state.suspended && frame.done === true,
        Math.max(1, until - Date.now()),
      ),
    );
    return AGAIN;
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(cancel);
    throw error;
  } finally {
    execution.awaited.delete(key);
  }
}

async function decide(
  execution: Execution,
  task: Task,
  remote: RemoteFrame,
  calls: RemoteCalls,
): Promise<NonNullable<RemoteReply['decision']>> {
  try {
    const decided = await askPerson(execution, task, remote.human, {
      task: ({ id }) => humanTask(execution, task, remote, id),
      marks: [],
      onExpiry: 'fault',
      round: remote.round,
    });
    applied(execution, task, decided);
    const { decision, payload, comment } = decided;
    return { decision, payload, comment };
  } catch (error) {
    if (isCancellation(error))
      await CancellationScope.nonCancellable(() => cancel(execution, task, remote, calls));
    throw error;
  }
}

function cancel(
  execution: Execution,
  task: Task,
  { round, ask }: RemoteFrame,
  calls: RemoteCalls,
): Promise<void> {
  const reply = { remote: ask.remote, decision: null };
  return tellNotNeeded(execution, task, () => calls.cancel({ round, reply }));
}

/** By default for the run's owner, as any human task that names nobody. */
function humanTask(execution: Execution, task: Task, { ask }: RemoteFrame, id: string): NewHumanTask {
  return {
    id,
    run_id: execution.start.run_id,
    task: task.ref,
    task_name: task.name,
    title: ask.title,
    description: ask.description,
    subject: ask.subject,
    form_schema: ask.form_schema,
    decisions: ask.decisions,
    assignee: null,
    candidates: ask.candidates ?? { users: [], roles: [], groups: [] },
    priority: PRIORITY,
    due_at: null,
    expires_at: null,
    quorum: null,
  };
}
