import type { Actor } from '../auth/actor.ts';
import { isAdmin } from '../auth/actor.ts';

/** A run is seen and steered by its owner and by admins; for others it does not exist. */
export function maySeeRun(actor: Actor, run: { owner_id: string }): boolean {
  return run.owner_id === actor.id || isAdmin(actor);
}
