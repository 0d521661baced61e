/**
 * Secrets of what changes its holder: it reads those that come along, and no other of the new holder. Names
 * are never bound because they are equal, as whoever gives it may have named a secret that only the new
 * holder has, beside an address of their own.
 */
import { AgentVersion } from '../../db/entities/agent-version.ts';
import { Agent } from '../../db/entities/agent.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { withBindings } from '../marketplace/agent-configuration.ts';
import { bindSecrets, rebindNamed } from '../registry/definition-secrets.ts';
import { getRevision, updateWorkflow } from '../registry/workflow-service.ts';

/** The names of secrets that come along → their names in the new holder's store. */
export type Handed = Readonly<Record<string, string>>;

export function boundBy(handed: Handed): (name: string) => string | null {
  return (name) => (Object.hasOwn(handed, name) ? (handed[name] ?? null) : null);
}

/**
 * In every version, published ones too: a version means the same, only the name in the store differs, or its
 * owner has to bind it.
 */
export async function rebindAgents(
  em: EntityManager,
  ids: readonly string[],
  bound: (name: string) => string | null,
): Promise<void> {
  const naming = await em.execute<{ id: string }[]>(
    `select id from agent a where id = any(?::uuid[])
        and (a.configuration::text ~ '<[A-Z]' or a.authentication_config::text ~ '<[A-Z]'
             or exists (select from agent_version v
                         where v.agent_id = a.id and v.configuration::text ~ '<[A-Z]'))`,
    [arrayLiteral(ids)],
  );
  if (naming.length === 0) return;
  const named = naming.map(({ id }) => id);
  for (const agent of await em.find(Agent, { id: { $in: named } })) {
    agent.configuration = withBindings(agent.configuration ?? null, bound);
    agent.authentication_config = withBindings(agent.authentication_config ?? null, bound);
  }
  for (const version of await em.find(AgentVersion, { agent_id: { $in: named } }))
    version.configuration = withBindings(version.configuration, bound);
  await em.flush();
}

/** The names that a run of a revision `v` may read. */
const DECLARED = `json_array_elements_text(
  case json_typeof(coalesce(v.executable, v.definition) #> '{use,secrets}')
    when 'array' then coalesce(v.executable, v.definition) #> '{use,secrets}' else '[]' end) as s(name)`;

/**
 * Lets no revision of these workflows, nor any of their runs, read another secret than those that come along
 * under the same name.
 */
export async function unbindRevisions(
  em: EntityManager,
  workflowIds: readonly string[],
  handed: Handed,
): Promise<void> {
  const same = Object.keys(handed).filter((name) => handed[name] === name);
  await em.execute(
    `insert into unbound_secret (workflow_id, revision, name)
     select v.workflow_id, v.revision, s.name from workflow_revision v, ${DECLARED}
      where v.workflow_id = any(?::uuid[]) and s.name <> all(?::text[]) and s.name not like 'UNBOUND:%'
     on conflict do nothing`,
    [arrayLiteral(workflowIds), arrayLiteral(same)],
  );
}

/**
 * Shows in a new revision of each of these workflows, as an installed copy does, which secrets are not bound.
 * Call it after `unbindRevisions`, which is for the revisions that there are: the next one reads what it
 * declares, so a draft and a definition that computes names must not declare them either. What computes a
 * name then has a mistake, or its call faults.
 */
export async function showUnbound(
  em: EntityManager,
  actor: Actor,
  workflowIds: readonly string[],
  handed: Handed,
): Promise<void> {
  const naming = await em.execute<{ id: string }[]>(
    `select w.id from workflow w
      where w.id = any(?::uuid[]) and w.archived_at is null
        and exists (select from unbound_secret u where u.workflow_id = w.id and u.revision = w.revision)`,
    [arrayLiteral(workflowIds)],
  );
  const names = boundBy(handed);
  const bound = (name: string, isUnbound: boolean): string | null => (isUnbound ? null : names(name));
  for (const { id } of naming) {
    const workflow = await em.findOneOrFail(Workflow, { id });
    const revision = await getRevision(em, workflow, workflow.revision);
    const definition = bindSecrets(revision.definition, bound) ?? rebindNamed(revision.definition, bound);
    await updateWorkflow(em, actor, { workflow, revision }, { definition });
  }
}
