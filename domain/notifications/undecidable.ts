/**
 * Says in the run's log that a task has opened which too few people may decide now, as after a misspelt name:
 * the run would wait, and nobody would notice. Admins, who may decide every task, do not count.
 */
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { HumanTask } from '../hitl/human-task.ts';
import { isCandidate, isExcluded, mayApprove } from '../hitl/policy.ts';
import { appendEvents, serviceEvent } from '../runs/events.ts';
import { findDeputies, findRecipients, standsIn, type Recipient } from './recipients.ts';

interface Asked {
  /** The first people of the task, by id. */
  people: readonly Recipient[];
  /** How many people a page has; fewer are the last. */
  limit: number;
  /** After that many the task counts as one that enough people may decide. */
  most: number;
}

/**
 * Reads nothing more if the people who are told anyway are enough. Locks the run's row, so what locks the
 * task's comes later. @returns whether it was said
 */
export async function warnIfUndecidable(em: EntityManager, task: HumanTask, asked: Asked): Promise<boolean> {
  const needed = task.quorum?.approvals ?? 1;
  if (await haveEnough(em, task, needed, asked)) return false;
  const event = serviceEvent({
    key: `hitl:${task.id}:undecidable`,
    type: EVENT.runWarning,
    level: 'warn',
    task: task.task,
    message: LOG_TEXT.runWarning.undecidable(task.task_name, needed),
    data: { hitl_task_id: task.id, needed },
  });
  const { closed } = await appendEvents(em, task.run_id, { events: [event], projection: null, acks: [] });
  return !closed;
}

async function haveEnough(
  em: EntityManager,
  task: HumanTask,
  needed: number,
  { people, limit, most }: Asked,
): Promise<boolean> {
  const found = new Set<string>();
  const others: string[] = [];
  let page = people;
  for (let read = page.length; ; read += page.length) {
    for (const person of page) {
      if (mayDecide(person, task)) found.add(person.id);
      else if (!isExcluded(person, task)) others.push(person.id);
    }
    if (found.size >= needed) return true;
    if (page.length < limit) break;
    if (read >= most) return true;
    page = await findRecipients(em, task.principals, { after: page.at(-1)?.id ?? null, limit });
  }
  // Who may not decide may have a deputy who may.
  for (const deputy of await findDeputies(em, others))
    if (standsIn(deputy, task, new Set())) found.add(deputy.id);
  return found.size >= needed;
}

function mayDecide(person: Recipient, task: HumanTask): boolean {
  return isCandidate(person, task) && mayApprove(person, task) && !isExcluded(person, task);
}
