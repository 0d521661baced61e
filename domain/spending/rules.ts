import type { AgentLimits } from '../../contracts/agent-limits.ts';
import type { EntityManager } from '../../db/orm.ts';

/** What the statement that begins a call tells of its budgets and limits. */
export interface CallRules {
  /** Whether a budget bears the call. */
  budgeted: boolean;
  limits: AgentLimits | null;
  /** Of the prices, as they are now. */
  pricesVersion: number;
}

/** For an agent that the call itself has pinned, which `begin_invocation` does not know. */
export async function readCallRules(em: EntityManager, runId: string, agentId: string): Promise<CallRules> {
  const [row] = await em.execute<{ budgeted: boolean; limits: AgentLimits | null; version: string }[]>(
    `select a.limits, m.prices_version as version,
            exists (select from budget b
                     where b.subject_id = any(r.charged || r.owner_id || r.budget_id || a.id)) as budgeted
       from agent a, run r, maintenance m where a.id = ? and r.id = ?`,
    [agentId, runId],
  );
  return {
    budgeted: row?.budgeted ?? false,
    limits: row?.limits ?? null,
    pricesVersion: Number(row?.version ?? 0),
  };
}
