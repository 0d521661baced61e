/** Access tokens by RFC 9068: ES256, 15 minutes. Roles and status are not in them: they are read from the user's row. */
import { SignJWT } from 'jose';
import * as z from 'zod';

import type { EntityManager } from '../../db/orm.ts';
import type { Actor, Role } from './actor.ts';
import type { SigningKeys } from './signing-keys.ts';

export const accessTokenSeconds = 900;
export const audience = 'cadenza';
/** `client_id` of tokens that people got by password. */
export const firstPartyClient = 'cadenza';

export const claimsSchema = z.object({
  sub: z.guid(),
  /** The session; for machine clients the token's own id. */
  sid: z.guid(),
  client_id: z.string(),
  /** `user_account.token_epoch` at the time of issue. */
  epoch: z.int(),
});
export type Claims = z.output<typeof claimsSchema>;

/** Scope as the answer names it: the roles. */
export async function signAccessToken(keys: SigningKeys, issuer: string, claims: Claims & { scope: string; jti: string }): Promise<string> {
  const { kid, privateKey } = await keys.current();
  const { sub, jti, ...own } = claims;
  return new SignJWT(own)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(sub)
    .setJti(jti)
    .setIssuedAt()
    .setExpirationTime(`${accessTokenSeconds}s`)
    .sign(privateKey);
}

interface Row {
  username: string;
  roles: Role[];
  groups: string[];
  status: string;
  token_epoch: number;
  session_id: string | null;
  revoked_at: string | null;
  client_row: string | null;
}

/** The user behind verified claims, as of now, by one indexed read; null if the token is no longer good. */
export async function actorOfClaims(em: EntityManager, claims: Claims): Promise<Actor | null> {
  const firstParty = claims.client_id === firstPartyClient;
  const [row] = await em.execute<Row[]>(
    `select u.username, u.roles, u.groups, u.status, u.token_epoch, s.id as session_id, s.revoked_at, c.id as client_row
     from user_account u
     left join auth_session s on s.id = ? and s.user_id = u.id
     left join auth_client c on c.id = ? and c.user_id = u.id
     where u.id = ?`,
    [claims.sid, firstParty ? null : claims.client_id, claims.sub],
  );
  const good =
    row !== undefined &&
    row.status === 'active' &&
    row.token_epoch === claims.epoch &&
    row.revoked_at === null &&
    (firstParty ? row.session_id !== null : row.client_row !== null);
  return good ? { id: claims.sub, username: row.username, roles: row.roles, groups: row.groups } : null;
}
