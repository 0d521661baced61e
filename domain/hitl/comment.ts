import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT, isTerminal } from '../../contracts/run-events.ts';
import { accepted, conflict, notFound, type Checked } from '../errors.ts';
import type { Actor } from '../auth/actor.ts';
import { lockRun } from '../runs/events.ts';
import { findTask, iso, type Comment, type HumanTask } from './human-task.ts';
import { mentionedPeople } from './mentions.ts';
import { record, type Caller } from './locked-task.ts';
import { checkSees, isConcerned, isDeputyFor, ownsRunOf } from './policy.ts';

/** The task if the actor sees it (404): they may comment on it. */
export async function loadForComment(em: EntityManager, actor: Actor, taskId: string): Promise<HumanTask> {
  const task = await findTask(em, taskId);
  checkSees(actor, task);
  return task;
}

/** Anyone who sees a task may comment on it in any state, until its run ends. */
export async function comment(
  em: EntityManager,
  caller: Caller,
  task: HumanTask,
  request: Checked<{ comment: string }>,
): Promise<Comment> {
  const { actor } = caller;
  const run = await lockRun(em, task.run_id);
  if (!run) throw notFound('human task');
  if (isTerminal(run.status)) throw conflict('run_finished', 'The run has ended.');
  const id = uuidv7();
  const { comment: text } = accepted(request);
  const rows = await em.execute<Comment[]>(
    `insert into hitl_comment as c (id, task_id, comment, created_by, created_at)
     values (?, ?, ?, ?, clock_timestamp())
     returning c.id, c.comment, c.created_by, ${iso('c.created_at')} as created_at`,
    [id, task.id, text, actor.id],
  );
  const mentions = await mentionedPeople(em, actor, task, text);
  await em.execute(`update hitl_task set updated_at = clock_timestamp() where id = ?`, [task.id]);
  const isTheirs = isConcerned(actor, task) || ownsRunOf(actor, task);
  const asAdmin = !isTheirs && !isDeputyFor(actor, task);
  await record(
    em,
    caller,
    { task, asAdmin },
    {
      action: 'commented',
      type: EVENT.hitlCommented,
      discriminator: id,
      message: LOG_TEXT.hitlCommented(task.task_name, actor.username),
      data: { comment_id: id, ...(mentions.length > 0 ? { mentions } : {}) },
    },
  );
  const [written] = rows;
  if (!written) throw new Error('The comment was not written');
  return written;
}
