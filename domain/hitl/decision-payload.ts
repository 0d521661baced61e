/** An accepted decision as the run receives it, by signal or when the task expires. */
import type { DecisionPayload, HumanAnswer } from '../../contracts/hitl.ts';
import type { EntityManager } from '../../db/orm.ts';
import { iso } from './human-task.ts';

/** The decision of a decided task; with a quorum also all votes, oldest first. */
export async function readDecisionPayload(em: EntityManager, taskId: string): Promise<DecisionPayload> {
  const [row] = await em.execute<(DecisionPayload & { quorum: unknown })[]>(
    `select d.task_id, d.id as decision_id, d.decision, d.payload, d.comment, d.decided_by,
            ${iso('d.decided_at')} as decided_at, t.quorum
       from hitl_decision d join hitl_task t on t.id = d.task_id where d.task_id = ?`,
    [taskId],
  );
  if (!row) throw new Error(`The decided human task ${taskId} has no decision`);
  const { quorum, ...decision } = row;
  return quorum === null ? decision : { ...decision, votes: await readVotes(em, taskId) };
}

/** Oldest first. */
export async function readVotes(em: EntityManager, taskId: string): Promise<HumanAnswer[]> {
  return em.execute<HumanAnswer[]>(
    `select v.decision, v.payload, v.comment, v.voted_by as decided_by, ${iso('v.voted_at')} as decided_at
       from hitl_vote v where v.task_id = ? order by v.voted_at, v.id`,
    [taskId],
  );
}
