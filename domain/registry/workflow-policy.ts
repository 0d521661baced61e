/** Who may do what with a workflow: deny by default. */
import type { Workflow } from '../../db/entities/workflow.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';

type Ownership = Pick<Workflow, 'owner_id' | 'visibility'>;

/** Private ones are seen by their owner and admins only. */
export function maySeeWorkflow(actor: Actor, workflow: Ownership): boolean {
  return workflow.visibility === 'public' || mayChangeWorkflow(actor, workflow);
}

export function mayChangeWorkflow(actor: Actor, workflow: Ownership): boolean {
  return workflow.owner_id === actor.id || isAdmin(actor);
}
