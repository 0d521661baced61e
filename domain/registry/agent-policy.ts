/** Who may do what with an agent: deny by default. */
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { conflict } from '../errors.ts';

type Ownership = Pick<Agent, 'owner_id' | 'visibility'>;

/** Private ones are seen by their owner and admins only. */
export function maySeeAgent(actor: Actor, agent: Ownership): boolean {
  return agent.visibility === 'public' || mayChangeAgent(actor, agent);
}

export function mayChangeAgent(actor: Actor, agent: Ownership): boolean {
  return agent.owner_id === actor.id || isAdmin(actor);
}

/** 409 while a run that is not finished uses the agent: invoked by itself, or pinned by a workflow's run. */
export async function checkNoUnfinishedRuns(em: EntityManager, agentId: string): Promise<void> {
  const [busy] = await em.execute<{ id: string }[]>(
    `select r.id from run r
      where r.status in ('pending', 'running', 'waiting', 'suspended')
        and (r.agent_id = ? or exists (select 1 from run_pin p where p.run_id = r.id and p.agent_id = ?))
      limit 1`,
    [agentId, agentId],
  );
  if (busy !== undefined) throw conflict('agent_in_use', 'Runs that are not finished use this agent: cancel them or wait for their end.', { run_id: busy.id });
}
