/** What an upload is for, which decides who may make it, how large it is, and whose it is. */
import * as z from 'zod';

import type { Role } from '../../../contracts/roles.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { withAbsentPeople } from '../../../domain/auth/absences.ts';
import { hasRole, type Actor } from '../../../domain/auth/actor.ts';
import { acting, hasRoleInSomeTeam } from '../../../domain/auth/ownership.ts';
import { badRequest, forbidden } from '../../../domain/errors.ts';
import { MAX_FILE_BYTES, type NewFile } from '../../../domain/files/service.ts';
import { checkWaiting } from '../../../domain/files/start-files.ts';
import { checkAttachment, MAX_ATTACHMENT_BYTES } from '../../../domain/hitl/attachments.ts';
import { loadForChange } from '../../../domain/hitl/locked-task.ts';
import { getStartable } from '../../../domain/runs/runnable.ts';
import { teamFor } from '../../../domain/teams/holding.ts';
import type { EndpointContext } from '../../endpoint.ts';
import { text, uuid } from '../../schemas.ts';
import { visibility } from './presenter.ts';

export const fileName = text({ min: 1, max: 255 });
export const uploadQuery = z.object({
  name: fileName.optional(),
  visibility: visibility.optional(),
  team_id: uuid.optional().meta({ description: 'The team that the file is for; default: the caller.' }),
  human_task: uuid.optional().meta({
    description:
      'The human task that the file is for. Whoever can decide it may upload up to 50 files of up to ' +
      '25 MiB, which are private and are removed with the run.',
  }),
  workflow: uuid.optional().meta({
    description:
      'The workflow that the caller is about to start with the file. Whoever may start it may have up to ' +
      '50 files that no run has taken yet, as a runner of up to 25 MiB. They are private, only runs of the ' +
      'workflow take them, as input, and they are removed with the run, or after a day without one.',
  }),
});
type UploadQuery = z.output<typeof uploadQuery>;

export interface Purpose {
  /** Of the team, the human task or the workflow; undefined for a file of the caller's own. */
  id: string | undefined;
  maxBytes: number;
  /** Whose the file is, beside its owner. In the transaction that stores it. @throws 403, 404, 409 */
  place: (em: EntityManager) => Promise<Place>;
}
type Place = Pick<NewFile, 'team_id' | 'run_id' | 'workflow_id' | 'visibility' | 'attached'>;

type Caller = Pick<EndpointContext, 'em' | 'actor'>;

/** @throws 400, 403, 404 */
export async function purposeOf(
  c: Pick<EndpointContext<unknown, UploadQuery>, 'em' | 'actor' | 'ctx' | 'query'>,
): Promise<{ purpose: Purpose; named: Pick<UploadQuery, 'name' | 'visibility'> }> {
  const { human_task: forTask, workflow: forWorkflow } = c.ctx.query;
  // Of others the query is not even read.
  if (forTask === undefined && forWorkflow === undefined) requireRole(c.actor, 'builder');
  const { team_id: teamId, human_task: taskId, workflow: workflowId, ...named } = c.query;
  requireOne({ human_task: taskId, workflow: workflowId, team_id: teamId });
  if (taskId !== undefined) return { purpose: await ofDecision(c, taskId), named };
  if (workflowId !== undefined) return { purpose: await ofStart(c, workflowId), named };
  return { purpose: ofBuilder(c, teamId), named };
}

function requireRole(actor: Actor, role: Role): void {
  if (!hasRole(actor, role) && !hasRoleInSomeTeam(actor, role))
    throw forbidden(`This requires the role ${role}.`, 'role_required');
}

/** @throws 400 */
function requireOne(purposes: Record<string, string | undefined>): void {
  const [first, second] = Object.keys(purposes).filter((name) => purposes[name] !== undefined);
  if (first === undefined || second === undefined) return;
  const message = `must not be given together with ${first}`;
  throw badRequest('invalid_query', `A file is for one thing: ${second} ${message}.`, [
    { pointer: second, code: 'invalid_query', message },
  ]);
}

function ofBuilder({ actor }: Caller, teamId: string | undefined): Purpose {
  return {
    id: teamId,
    maxBytes: MAX_FILE_BYTES,
    place: async (em) => ({ team_id: await teamFor(em, acting(actor, 'builder'), teamId) }),
  };
}

/** A file for a decision. @throws 403, 404 for people who may not decide the task */
async function ofDecision({ em, actor }: Caller, taskId: string): Promise<Purpose> {
  requireRole(actor, 'approver');
  const person = await withAbsentPeople(em, acting(actor, 'approver'));
  const task = await loadForChange(em, person, taskId);
  return {
    id: task.id,
    maxBytes: MAX_ATTACHMENT_BYTES,
    async place(tx) {
      await checkAttachment(tx, person, task);
      return { run_id: task.run_id, visibility: 'private', attached: true };
    },
  };
}

/** A file for the start of a workflow. @throws 403, 404 for people who may not start it */
async function ofStart({ em, actor }: Caller, workflowId: string): Promise<Purpose> {
  // As of the start itself.
  if (actor.client !== undefined) requireRole(actor, 'builder');
  const { workflow, byGrant } = await getStartable(em, actor, workflowId);
  return {
    id: workflow.id,
    maxBytes: byGrant ? MAX_ATTACHMENT_BYTES : MAX_FILE_BYTES,
    async place(tx) {
      await checkWaiting(tx, actor.id, workflow.id);
      return { workflow_id: workflow.id, visibility: 'private', attached: true };
    },
  };
}
