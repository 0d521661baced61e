/** Machine clients of a user. Their secrets are random and long, so a plain hash keeps them. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import { AuthClient } from '../../db/entities/auth-client.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict, notFound } from '../errors.ts';
import type { Actor } from './actor.ts';

const mostClients = 100;

/** The secret is in the answer only; it cannot be read again. */
export async function createClient(em: EntityManager, actor: Actor, args: { name: string }): Promise<{ client: AuthClient; secret: string }> {
  if ((await em.count(AuthClient, { user_id: actor.id })) >= mostClients) {
    throw conflict('too_many_clients', `A user has at most ${mostClients} clients.`);
  }
  const secret = randomBytes(32).toString('base64url');
  const client = em.create(AuthClient, {
    id: uuidv7(), user_id: actor.id, name: args.name, secret_hash: hashSecret(secret), created_at: new Date(), last_used: null,
  });
  await em.persist(client).flush();
  return { client, secret };
}

/** Oldest first, one more than `limit`. */
export async function listClients(em: EntityManager, actor: Actor, args: { after?: string | undefined; limit: number }): Promise<AuthClient[]> {
  return em.find(
    AuthClient,
    { user_id: actor.id, ...(args.after ? { id: { $gt: args.after } } : {}) },
    { orderBy: { id: 'asc' }, limit: args.limit + 1 },
  );
}

/** Its tokens stop working at once. */
export async function deleteClient(em: EntityManager, actor: Actor, id: string): Promise<void> {
  if ((await em.nativeDelete(AuthClient, { id, user_id: actor.id })) === 0) {
    throw notFound('client');
  }
}

export function clientSecretFits(secret: string, hash: string | null): boolean {
  const given = Buffer.from(hashSecret(secret));
  const kept = Buffer.from(hash ?? hashSecret(''));
  return given.length === kept.length && timingSafeEqual(given, kept) && hash !== null;
}

function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
