import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { EVENT, isTerminal } from '../../contracts/run-events.ts';
import { conflict, notFound } from '../errors.ts';
import { lockRun } from '../runs/events.ts';
import { findTask, iso } from './human-task.ts';
import type { Comment } from './human-task.ts';
import { record } from './locked-task.ts';
import type { Caller } from './locked-task.ts';
import { checkSees, isCandidate } from './policy.ts';
import { later } from './submission.ts';

/** Everybody who sees a task may comment on it, whatever its state, as long as its run goes on. */
export async function comment(em: EntityManager, caller: Caller, taskId: string, text: () => string): Promise<Comment> {
  const { actor } = caller;
  const task = await findTask(em, taskId);
  checkSees(actor, task);
  const said = later(text);
  const run = await lockRun(em, task.run_id);
  if (!run) throw notFound('human task');
  if (isTerminal(run.status)) throw conflict('run_finished', 'The run has ended.');
  const id = uuidv7();
  const rows = await em.execute<Comment[]>(
    `insert into hitl_comment as c (id, task_id, comment, created_by, created_at) values (?, ?, ?, ?, clock_timestamp())
     returning c.id, c.comment, c.created_by, ${iso('c.created_at')} as created_at`,
    [id, taskId, said(), actor.id],
  );
  await em.execute(`update hitl_task set updated_at = clock_timestamp() where id = ?`, [taskId]);
  const asAdmin = !isCandidate(actor, task) && task.claimed_by !== actor.id && task.owner_id !== actor.id;
  await record(em, caller, { task, asAdmin }, {
    action: 'commented',
    type: EVENT.hitlCommented,
    discriminator: id,
    message: `${actor.username} commented`,
    data: { comment_id: id },
  });
  const [written] = rows;
  if (!written) throw new Error('The comment was not written');
  return written;
}
