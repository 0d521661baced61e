/**
 * Before a retry with changes goes on, it asks people again what it would take over
 * (docs/runs.md#retry-with-changes). Only the same decision lets it go on, because what came after it is
 * taken over too.
 */
import type { AgainQuestion } from '../../contracts/asked-again.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { Execution, Task } from './execution.ts';
import { DslFault, fault } from './fault.ts';
import {
  applied,
  askPerson,
  humanFrame,
  type Answer,
  type Mark,
  type Question,
} from './functions/ask-person.ts';
import { loggedFault } from './logged-fault.ts';
import { preview } from './preview.ts';
import { sameJson } from './same-json.ts';
import type { HumanFrame, RunState } from './state.ts';

type Decisions = NonNullable<RunState['asked_again']>;

/** One after the other, in the order of the list. @throws DslFault for another decision, and at the expiry */
export async function askAgain(execution: Execution, decisions: Decisions): Promise<void> {
  for (const [index, decision] of decisions.entries()) {
    const { question, task: ref } = decision;
    if (question === undefined) continue;
    const gate = execution.gate();
    if (gate) await gate;
    const { scope } = execution.state;
    const env = { scope, variables: {}, attempt: 1, strand: execution.strand };
    // Visits of the task itself begin at 1.
    const task = {
      name: question.request.task_name,
      ref,
      frame: { raw: null },
      visit: 0 - index,
      attempt: 1,
      env,
    };
    const isNew = !decision.human;
    const human = (decision.human ??= humanFrame());
    if (isNew) {
      decision.asked.push(human.id);
      logStarted(execution, task, human);
    }
    try {
      const answer = await askPerson(execution, task, human, questionOf(execution, task, question, human));
      applied(execution, task, answer);
      checkSame(question, answer, ref);
      logCompleted(execution, task, answer);
    } catch (error) {
      if (error instanceof DslFault) logFaulted(execution, task, error);
      throw error;
    }
    delete decision.question;
    delete decision.human;
  }
}

/** Reminders and escalations are not repeated; the expiry is a fault, whatever it was before. */
function questionOf(
  execution: Execution,
  { ref }: Task,
  { request, due_ms: dueMs, expires_ms: expiresMs }: AgainQuestion,
  human: HumanFrame,
): Question {
  const marks: Mark[] = [];
  if (dueMs !== null) marks.push({ kind: 'due', at: human.created_at + dueMs });
  if (expiresMs !== null) marks.push({ kind: 'expire', at: human.created_at + expiresMs });
  const timeOf = (ms: number | null): string | null =>
    ms === null ? null : new Date(human.created_at + ms).toISOString();
  return {
    task: () => ({
      ...request,
      id: human.id,
      run_id: execution.start.run_id,
      task: ref,
      due_at: timeOf(dueMs),
      expires_at: timeOf(expiresMs),
    }),
    marks: marks.filter(({ at }) => expiresMs === null || at <= human.created_at + expiresMs),
    onExpiry: 'fault',
  };
}

function checkSame(question: AgainQuestion, { decision, payload }: Answer, ref: string): void {
  if (decision === question.decision && sameJson(payload, question.payload)) return;
  throw fault(
    'runtime',
    'People have now decided otherwise than in the run that is retried, so what came after cannot be taken ' +
      'over: retry with "from" this task, or start a new run',
    ref,
  );
}

function logStarted(execution: Execution, task: Task, { created_at: createdAt }: HumanFrame): void {
  const { name, attempt } = task;
  execution.journal.add(
    execution.taskEvent(task, EVENT.taskStarted, 'started', LOG_TEXT.taskStarted(name), {
      data: { name, type: 'human', attempt, startedAt: new Date(createdAt).toISOString() },
    }),
  );
}

function logCompleted(execution: Execution, task: Task, answer: Answer): void {
  const { name } = task;
  const { decision, payload, comment, decided_by, decided_at, task_id } = answer;
  const output = { decision, payload, comment, decided_by, decided_at };
  const completedAt = new Date().toISOString();
  const data = { name, completedAt, ...preview('output', output), hitl_task_id: task_id, decision };
  execution.journal.add(
    execution.taskEvent(task, EVENT.taskCompleted, 'completed', LOG_TEXT.taskCompleted(name), { data }),
  );
}

function logFaulted(execution: Execution, task: Task, fault: DslFault): void {
  const { message, error } = loggedFault(fault);
  const { name } = task;
  execution.journal.add(
    execution.taskEvent(task, EVENT.taskFaulted, 'faulted', LOG_TEXT.taskFaulted(name, message), {
      level: 'error',
      data: { name, faultedAt: new Date().toISOString(), error },
    }),
  );
}
