/** Access to files: deny by default. */
import type { StoredFile } from '../../db/entities/stored-file.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';

type Ownership = Pick<StoredFile, 'owner_id' | 'visibility'>;

/** Only their owner and admins see private files. */
export function maySeeFile(actor: Actor, file: Ownership): boolean {
  return file.visibility === 'public' || mayChangeFile(actor, file);
}

export function mayChangeFile(actor: Actor, file: Ownership): boolean {
  return file.owner_id === actor.id || isAdmin(actor);
}
