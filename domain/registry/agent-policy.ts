/** Permissions on agents: deny by default. */
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { isOneOf } from '../../db/sql.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { conflict } from '../errors.ts';

export type Ownership = Pick<Agent, 'owner_id' | 'visibility'>;

type Who = Pick<Actor, 'id' | 'roles'>;

/** Only their owner and admins see private agents. */
export function maySeeAgent(actor: Who, agent: Ownership): boolean {
  return agent.visibility === 'public' || mayChangeAgent(actor, agent);
}

export function mayChangeAgent(actor: Who, agent: Ownership): boolean {
  return agent.owner_id === actor.id || isAdmin(actor);
}

/** Whether the actor may publish it in the marketplace, in their own name. */
export function mayPublishAgent(actor: Actor, agent: Ownership): boolean {
  return agent.owner_id === actor.id;
}

/** @throws 409 while an unfinished run uses the agent, directly or pinned by a workflow's run */
export async function checkNoUnfinishedRuns(em: EntityManager, agentId: string): Promise<void> {
  const [busy] = await em.execute<{ id: string }[]>(
    `select r.id from run r
      where ${isOneOf('r.status', LIVE_STATUSES)}
        and (r.agent_id = ? or exists (select 1 from run_pin p where p.run_id = r.id and p.agent_id = ?))
      limit 1`,
    [agentId, agentId],
  );
  if (busy !== undefined)
    throw conflict('agent_in_use', 'Unfinished runs use this agent: cancel them or wait for their end.', {
      run_id: busy.id,
    });
}
