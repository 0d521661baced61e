/**
 * Finds an earlier copy of the same content by the same publisher, so that installing it again returns and
 * completes that copy.
 */
import { Agent } from '../../db/entities/agent.ts';
import type { ItemKind, MarketplaceItem } from '../../db/entities/marketplace-item.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import { conflict } from '../errors.ts';
import { getRevision, type WorkflowState } from '../registry/workflow-service.ts';
import type { Installer } from './installer.ts';

export interface EarlierCopy {
  id: string;
  item_id: string;
  ref_id: string;
  installed_at: Date;
}

/** The newest copy that the installer still holds; copies that were moved or deleted do not count. */
export async function findEarlierCopy(
  em: EntityManager,
  { team_id: teamId, holder_id: holderId }: Installer,
  { kind, publisher_id }: MarketplaceItem,
  digest: string,
): Promise<EarlierCopy | null> {
  const table = kind === 'agent' ? 'agent' : 'workflow';
  const [row] = await em.execute<EarlierCopy[]>(
    `select i.id, i.item_id, i.ref_id, i.installed_at
       from marketplace_install i
       join marketplace_item m on m.id = i.item_id and m.publisher_id = ? and m.kind = ?
       join ${table} c on c.id = i.ref_id and c.holder_id = ?
            ${kind === 'workflow' ? 'and c.archived_at is null' : ''}
      where ${teamId === null ? 'i.user_id = ? and i.team_id is null' : 'i.team_id = ?'} and i.digest = ?
      order by i.id desc limit 1`,
    [publisher_id, kind, holderId, holderId, digest],
  );
  return row ? { ...row, installed_at: new Date(row.installed_at) } : null;
}

export async function agentOf(em: EntityManager, { ref_id }: EarlierCopy): Promise<Agent> {
  return em.findOneOrFail(Agent, { id: ref_id });
}

/** With `lock`, locks the workflow's row: newly available agents are put into a new revision. */
export async function workflowOf(
  em: EntityManager,
  { ref_id }: EarlierCopy,
  { lock }: { lock: boolean },
): Promise<WorkflowState> {
  const options = lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {};
  const workflow = await em.findOneOrFail(Workflow, { id: ref_id }, options);
  return { workflow, revision: await getRevision(em, workflow, workflow.revision) };
}

/** The names of `required` that the copy leaves unbound. */
export function unboundIn(copy: unknown, required: readonly string[], kind: ItemKind): string[] {
  const text = JSON.stringify(copy);
  const unbound = (name: string): boolean =>
    kind === 'agent'
      ? text.includes(`<UNBOUND:${name}>`)
      : text.includes(JSON.stringify(`UNBOUND:${name}`).slice(1, -1));
  return required.filter(unbound);
}

/**
 * @throws 409 if secrets were given for an existing copy: installing again does not change a copy, and
 * ignoring the secrets silently would be wrong
 */
export function refuseBinding(
  names: readonly string[],
  { ref_id }: Pick<EarlierCopy, 'ref_id'>,
  kind: ItemKind,
  copy = 'this',
): void {
  const [name] = names;
  if (name === undefined) return;
  const how = kind === 'agent' ? 'in a new version of it, and publish that' : 'in a new revision of it';
  throw conflict(
    'already_installed',
    `You have a copy of ${copy} already, in which the secret ${name} is not bound: bind it ${how}.`,
    { ref_id },
  );
}
