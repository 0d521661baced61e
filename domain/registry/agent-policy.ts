/** Permissions on agents (`domain/auth/ownership.ts`), and what keeps them from being deleted. */
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict } from '../errors.ts';

export {
  mayChange as mayChangeAgent,
  mayPublish as mayPublishAgent,
  maySee as maySeeAgent,
  type Owned as Ownership,
} from '../auth/ownership.ts';

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
