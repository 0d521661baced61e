import type { EntityManager } from '../../db/orm.ts';
import type { WorkflowRevision } from '../../db/entities/workflow-revision.ts';
import type { Actor } from '../auth/actor.ts';
import { seenBy } from '../auth/ownership.ts';
import { notFound } from '../errors.ts';
import { getRunInside } from './queries.ts';

/** More tasks are not drawn. */
const MAX_STATES = 1000;

interface Picture {
  definition: Record<string, unknown>;
  agents: WorkflowRevision['agents'];
  /** By JSON pointer: the status of the last visit, and how many there were. */
  states: Map<string, { status: string; visits: number }>;
}

/** @throws not_found, also if the actor cannot see the run's workflow */
export async function getRunPicture(em: EntityManager, actor: Actor, id: string): Promise<Picture> {
  await getRunInside(em, actor, id);
  const seen = seenBy(actor, 'w');
  const [row] = await em.execute<(Omit<Picture, 'states'> & { states: StateRow[] })[]>(
    `select r.definition, coalesce(v.agents, '[]') as agents,
            coalesce((select json_agg(s) from (
              select t.reference, t.status, last.visits
                from (select reference, max(visit) as visit, count(*)::int as visits, min(seq) as seq
                        from run_task where run_id = r.id group by reference order by min(seq) limit ?) last
                join run_task t on t.run_id = r.id and t.reference = last.reference and t.visit = last.visit
            ) s), '[]') as states
       from run r left join workflow w on w.id = r.workflow_id
            left join workflow_revision v on v.workflow_id = w.id and v.revision = r.workflow_revision
      where r.id = ? and (w.id is null or ${seen.sql})`,
    [MAX_STATES, id, ...seen.values],
  );
  if (!row) throw notFound('run');
  const states = row.states.map(({ reference, ...state }) => [reference, state] as const);
  return { ...row, states: new Map(states) };
}

interface StateRow {
  reference: string;
  status: string;
  visits: number;
}
