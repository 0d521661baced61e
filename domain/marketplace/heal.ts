/**
 * Heals a workflow that was saved or installed while some of its agents were missing or ambiguous: once they
 * are available, a new revision names them, with the rights of the workflow's owner. For a copy from the
 * marketplace they are chosen as at its installation.
 */
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { RequiredAgent } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf } from '../auth/ownership.ts';
import type { Problem } from '../../language/definition/validate.ts';
import { checkDefinition } from '../registry/workflow-definitions.ts';
import { withValues } from '../../language/definition/resources.ts';
import { getRevision, updateWorkflow, type WorkflowState } from '../registry/workflow-service.ts';
import { installerOf } from './installer.ts';
import { existingAgent } from './required-agents.ts';

/** `pointer` leads to the agent's id in the copy's definition. */
export interface MissingAgent extends RequiredAgent {
  pointer: string;
}

/** A cheap check without a query: only a workflow that lacks agents can be healed. */
export function mayHeal({ problems }: { problems: readonly Problem[] }): boolean {
  return lacking(problems) > 0;
}

function lacking(problems: readonly Problem[]): number {
  return problems.filter(({ code }) => code === 'unknown_agent' || code === 'ambiguous_agent').length;
}

/** Opens its own transaction. @returns whether the workflow has a new revision */
export async function healWorkflow(em: EntityManager, workflowId: string): Promise<boolean> {
  return em.fork().transactional(async (tx) => {
    const workflow = await tx.findOne(
      Workflow,
      { id: workflowId, archived_at: null },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (workflow === null) return false;
    const state = { workflow, revision: await getRevision(tx, workflow, workflow.revision) };
    if (!mayHeal(state.revision)) return false;
    const found = new Map<string, string>();
    const installer = installerOf(workflow);
    const { actor: owner } = installer;
    for (const missing of await missingAgents(tx, state)) {
      const id = await existingAgent(tx, installer, missing);
      if (id !== null) found.set(missing.pointer, id);
    }
    return (await useAgents(tx, owner, state, found)) !== state || resolveAnew(tx, owner, state);
  });
}

/** The agents that the definition names by name may be there by now. */
async function resolveAnew(em: EntityManager, owner: Actor, state: WorkflowState): Promise<boolean> {
  const { workflow, revision } = state;
  const { definition } = revision;
  const fetched = { resources: revision.resources ?? [], problems: [] };
  const { problems } = await checkDefinition(em, holderOf(workflow), definition, workflow.name, fetched);
  if (lacking(problems) >= lacking(revision.problems)) return false;
  await updateWorkflow(em, owner, state, { definition });
  return true;
}

/** Agents that the item requires and that the copy's definition names but cannot find. */
export async function missingAgents(
  em: EntityManager,
  { workflow, revision }: WorkflowState,
): Promise<MissingAgent[]> {
  const { provenance } = workflow;
  if (!provenance) return [];
  const version = await em.findOne(MarketplaceVersion, {
    item_id: provenance.item_id,
    version: provenance.version,
  });
  return revision.problems
    .filter(({ code }) => code === 'unknown_agent')
    .flatMap(({ pointer }): MissingAgent[] => {
      const call = valueAt(revision.definition, pointerTokens(pointer).slice(0, -1));
      const { agent: id, version: wanted = null } = isRecord(call) ? call : {};
      const required = version?.requires.agents.find(
        (agent) => agent.agent_id === id && agent.version === wanted,
      );
      return required ? [{ ...required, pointer }] : [];
    });
}

/** A new revision with these agents, by pointer; without any, the state is unchanged. */
export async function useAgents(
  em: EntityManager,
  owner: Actor,
  state: WorkflowState,
  ids: ReadonlyMap<string, string>,
): Promise<WorkflowState> {
  if (ids.size === 0) return state;
  return updateWorkflow(em, owner, state, { definition: withValues(state.revision.definition, ids) });
}

function valueAt(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((holder, key) => {
    return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key)
      ? Reflect.get(holder, key)
      : undefined;
  }, value);
}
