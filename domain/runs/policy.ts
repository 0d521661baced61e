import { isAdmin, type Actor } from '../auth/actor.ts';

/** Only a run's owner and admins see and control it; for others it does not exist. */
export function maySeeRun(actor: Actor, run: { owner_id: string }): boolean {
  return run.owner_id === actor.id || isAdmin(actor);
}
