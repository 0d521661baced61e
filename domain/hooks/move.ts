/** Gives an inbound webhook to a team, or to a person, together with the secrets that sign its calls. */
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf } from '../auth/ownership.ts';
import { conflict } from '../errors.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { bindsByName, copySecrets, moveObject, type Destination } from '../teams/holding.ts';
import type { Hook, HookFields } from './service.ts';

/**
 * Secrets that it named before are copied; those that the same request names are the new holder's.
 * @returns the webhook of its new holder @throws 403, 409, 422
 */
export async function moveHook(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  { hook, fields, to }: { hook: Hook; fields: HookFields; to: Destination },
): Promise<Hook> {
  const moved = await moveObject(em, actor, 'inbound_hook', hook, to);
  const wanted = new Set([fields.secret, fields.former_secret]);
  const before = [hook.secret, hook.former_secret].filter((name) => name !== null);
  const names = before.filter((name) => wanted.has(name));
  const handed = await copySecrets(em, encryption, { from: holderOf(hook), to: moved.holder_id, names });
  const missing = names.filter((name) => !Object.hasOwn(handed, name));
  // A name that the new holder has by chance is another secret.
  if (missing.length > 0 && !bindsByName(actor, hook, to.team))
    throw conflict('secret_gone', 'Its owner has no such secret: name another one.', { secrets: missing });
  return { ...hook, owner_id: moved.owner_id, team_id: moved.team_id };
}
