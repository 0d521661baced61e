/** Machine clients of a user. Their secrets are long and random, so a plain SHA-256 hash is enough. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import { counted } from '../../contracts/counted.ts';
import type { Role } from '../../contracts/roles.ts';
import { AuthClient } from '../../db/entities/auth-client.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { AppError, forbidden, invalid, notFound } from '../errors.ts';
import { checkQuota } from '../quotas/check.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import { FIRST_PARTY_CLIENT, type Claims } from './access-token.ts';
import { checkScopes } from './access-tokens.ts';
import type { Actor } from './actor.ts';
import { startsWaiting } from './waiting-programs.ts';

const DAY_MS = 86_400_000;
/** How recent the log-in has to be to create a client. */
const FRESH_LOGIN_SECONDS = 300;

/**
 * Keeps a stolen token or an open browser from creating a credential that outlives it. @throws 403 for a
 * machine client's token, 401 (RFC 9470) if the log-in is older than 5 minutes
 */
export function checkFreshLogin(claims: Pick<Claims, 'client_id' | 'auth_time'>): void {
  if (claims.client_id !== FIRST_PARTY_CLIENT) {
    throw forbidden('This needs a session of a person: clients may not do it.', 'person_required');
  }
  if (Date.now() / 1_000 - (claims.auth_time ?? 0) <= FRESH_LOGIN_SECONDS) return;
  const detail =
    'This needs a log-in at most 5 minutes old: log in again, or show your second factor, or your password ' +
    'if you have none, at POST /users/me/verify; a refreshed token does not count.';
  throw new AppError('unauthorized', 'login_too_old', detail, {
    headers: {
      'WWW-Authenticate':
        'Bearer realm="cadenza", error="insufficient_user_authentication", ' +
        `max_age="${FRESH_LOGIN_SECONDS}"`,
    },
  });
}

/**
 * The same for sessions: what a machine client or an access token does, its scopes permit. An OAuth client's
 * session was approved by one that may have been old, so no OAuth client may do it. @throws 401, 403
 */
export function checkStepUp(
  claims: Pick<Claims, 'client_id' | 'auth_time'>,
  { client }: Pick<Actor, 'client'>,
): void {
  if (claims.client_id === FIRST_PARTY_CLIENT || client !== undefined) checkFreshLogin(claims);
}

export interface NewClient {
  name: string;
  /** Default: the latest allowed time. */
  expires_at?: Date | undefined;
  /** Default: all that its user may do. */
  scopes?: string[] | undefined;
  /** The longest allowed lifetime in days. */
  maxDays: number;
  limits: QuotaEnv;
  secondFactorRoles: readonly Role[];
}

/** The secret is only in this response; it cannot be read later. @throws 409, 422 */
export async function createClient(
  em: EntityManager,
  actor: Actor,
  { name, expires_at, scopes, maxDays, limits, secondFactorRoles }: NewClient,
): Promise<{ client: AuthClient; secret: string }> {
  const now = Date.now();
  const latest = new Date(now + maxDays * DAY_MS);
  const expiresAt = expires_at ?? latest;
  if (expiresAt.getTime() <= now || expiresAt > latest) {
    throw invalid([
      {
        pointer: '/expires_at',
        code: 'out_of_range',
        message: `must be a time within the next ${counted(maxDays, 'day')}`,
      },
    ]);
  }
  if (scopes !== undefined) await checkScopes(em, actor, scopes);
  const secret = randomBytes(32).toString('base64url');
  const client = em.create(AuthClient, {
    id: uuidv7(),
    user_id: actor.id,
    name,
    secret_hash: hashSecret(secret),
    scopes: scopes ?? null,
    created_at: new Date(now),
    expires_at: expiresAt,
    last_used: null,
    awaits_second_factor: await startsWaiting(em, actor.id, secondFactorRoles),
  });
  await em.persist(client).flush();
  await checkQuota(em, limits, 'clients', actor.id);
  return { client, secret };
}

/** Oldest first. */
export async function listClients(
  em: EntityManager,
  userId: string,
  page: KeysetPage,
): Promise<AuthClient[]> {
  return em.find(
    AuthClient,
    { user_id: userId, ...(page.after ? { id: { $gt: page.after } } : {}) },
    { orderBy: { id: 'asc' }, limit: page.limit },
  );
}

/** The client's tokens stop working at once. @throws 404 */
export async function deleteClient(em: EntityManager, userId: string, id: string): Promise<void> {
  if ((await em.nativeDelete(AuthClient, { id, user_id: userId })) === 0) {
    throw notFound('client');
  }
}

export function clientSecretFits(secret: string, hash: string | null): boolean {
  const given = Buffer.from(hashSecret(secret));
  const stored = Buffer.from(hash ?? hashSecret(''));
  return given.length === stored.length && timingSafeEqual(given, stored) && hash !== null;
}

export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
