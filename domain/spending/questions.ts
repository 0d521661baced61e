/**
 * Questions about budgets that several runs share: one run asks, the calls of the others wait, and go on when
 * the budget is raised, or when the question is gone (docs/budgets.md#at-the-end-of-a-budget).
 */
import type { EntityManager } from '../../db/orm.ts';
import { enqueueSignal } from '../runs/signals.ts';

/** What a call waits with: the key of the invocation that found the budget used up first. */
export interface BudgetWait {
  runId: string;
  key: string;
}

/** The most calls that go on at once; the reconciler wakes the others. */
const WOKEN = 500;
/** From a question's row to its human task. */
const ASKED_WITHIN_MINUTES = 2;
/** Budgets of one pass of the reconciler. */
const LOOKED_AT = 100;

/** @returns whether this run is to ask, or asks already; else the call is noted as waiting */
export async function asksFor(em: EntityManager, subjectId: string, wait: BudgetWait): Promise<boolean> {
  const { runId, key } = wait;
  // Who raises the budget locks it before its question.
  await em.execute('select from budget where subject_id = ? for key share', [subjectId]);
  const [mine] = await em.execute<object[]>(
    `insert into budget_question (subject_id, run_id) values (?, ?)
     on conflict (subject_id) do update set asked_at = budget_question.asked_at
       where budget_question.run_id = excluded.run_id
     returning 1`,
    [subjectId, runId],
  );
  if (mine) return true;
  await em.execute(
    `insert into budget_wait (run_id, key, subject_id) values (?, ?, ?)
     on conflict (run_id, key) do update
        set subject_id = excluded.subject_id, rejected = false, woken_at = null`,
    [runId, key, subjectId],
  );
  return false;
}

/** The call waits no longer. @returns the budget that people have refused to raise meanwhile, or null */
export async function endWait(em: EntityManager, { runId, key }: BudgetWait): Promise<string | null> {
  const [row] = await em.execute<{ subject_id: string; rejected: boolean }[]>(
    `delete from budget_wait where run_id = ? and key = ? returning subject_id, rejected`,
    [runId, key],
  );
  return row?.rejected ? row.subject_id : null;
}

/** The run asks no longer. `rejected`: those that wait are refused, too. @returns signals to deliver */
export async function endQuestion(
  em: EntityManager,
  subjectId: string,
  runId: string,
  { rejected = false } = {},
): Promise<string[]> {
  const ended = await em.execute<object[]>(
    'delete from budget_question where subject_id = ? and run_id = ? returning 1',
    [subjectId, runId],
  );
  if (ended.length === 0) return [];
  if (rejected) await em.execute('update budget_wait set rejected = true where subject_id = ?', [subjectId]);
  return wakeCalls(em, subjectId);
}

/** Lets calls that wait for the budget try again, the oldest first. @returns signals to deliver */
export async function wakeCalls(em: EntityManager, subjectId: string): Promise<string[]> {
  const woken = await em.execute<{ run_id: string; key: string }[]>(
    `update budget_wait set woken_at = clock_timestamp()
      where (run_id, key) in (
        select run_id, key from budget_wait where subject_id = ? and woken_at is null
         order by since limit ${WOKEN} for update skip locked)
     returning run_id, key`,
    [subjectId],
  );
  const signals: string[] = [];
  for (const { run_id: runId, key } of woken) {
    const id = await enqueueSignal(em, runId, { kind: 'call.done', key });
    if (id !== null) signals.push(id);
  }
  return signals;
}

/**
 * Removes questions that no human task asks, because their call was lost before it could, and needs no
 * answer now.
 */
async function removeLeftQuestions(em: EntityManager): Promise<void> {
  await em.execute(
    `delete from budget_question q
      where q.asked_at < clock_timestamp() - interval '${ASKED_WITHIN_MINUTES} minutes'
        and not exists (
          select from hitl_task t
           where t.run_id = q.run_id and human_task_is_undecided(t.status)
             and t.subject #>> '{budget,subject_id}' = q.subject_id::text)`,
  );
}

/** Wakes calls that wait for a question which is gone, such as with its run. @returns signals to deliver */
export async function wakeLeftCalls(em: EntityManager): Promise<string[]> {
  await removeLeftQuestions(em);
  const left = await em.execute<{ subject_id: string }[]>(
    `select distinct w.subject_id from budget_wait w
      where w.woken_at is null
        and not exists (select from budget_question q where q.subject_id = w.subject_id) limit ${LOOKED_AT}`,
  );
  const signals: string[] = [];
  for (const { subject_id: subjectId } of left)
    signals.push(...(await em.fork().transactional((tx) => wakeCalls(tx, subjectId))));
  return signals;
}
