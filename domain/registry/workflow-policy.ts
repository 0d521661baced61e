/** Permissions on workflows: deny by default. */
import type { Workflow } from '../../db/entities/workflow.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';

export type Ownership = Pick<Workflow, 'owner_id' | 'visibility'>;

/** Only their owner and admins see private workflows. */
export function maySeeWorkflow(actor: Actor, workflow: Ownership): boolean {
  return workflow.visibility === 'public' || mayChangeWorkflow(actor, workflow);
}

export function mayChangeWorkflow(actor: Actor, workflow: Ownership): boolean {
  return workflow.owner_id === actor.id || isAdmin(actor);
}

/** Whether the actor may publish it in the marketplace, in their own name. */
export function mayPublishWorkflow(actor: Actor, workflow: Ownership): boolean {
  return workflow.owner_id === actor.id;
}
