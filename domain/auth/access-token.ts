/**
 * Access tokens by RFC 9068: ES256, valid for 15 minutes. They carry neither roles nor status for checks;
 * both are read from the user's row.
 */
import { SignJWT } from 'jose';
import * as z from 'zod';

import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import type { Role } from '../../contracts/roles.ts';
import { actorOfSession, rightsUnless, scopedActor, type Actor, type TeamRole } from './actor.ts';
import type { SigningKeys } from './signing-keys.ts';

export const ACCESS_TOKEN_SECONDS = 900;
export const AUDIENCE = 'cadenza';
/** Path of the MCP server, below the base URL. Tokens for this resource are of no use elsewhere. */
export const MCP_PATH = '/mcp';
/** Path of the codec for Temporal's UI, below the base URL: its tokens are of no use elsewhere either. */
export const CODEC_RESOURCE = '/temporal-codec';
/** `client_id` of tokens that users got for themselves, by their password or by the device flow. */
export const FIRST_PARTY_CLIENT = 'cadenza';

export const claimsSchema = z.object({
  sub: z.guid(),
  /** The session's id; for machine clients the token's own id. */
  sid: z.guid(),
  client_id: z.string(),
  /** `user_account.token_epoch` at the time of issue. */
  epoch: z.int(),
  /**
   * When the user entered the password, in seconds since 1970; a refresh does not renew it. Absent for
   * machine clients.
   */
  auth_time: z.int().optional(),
});
export type Claims = z.output<typeof claimsSchema>;
/** koa-jwt accepts tokens without expiry; we do not. */
export const expiringClaimsSchema = claimsSchema.extend({ exp: z.int() });
export type ExpiringClaims = z.output<typeof expiringClaimsSchema>;

/** The audience of tokens for a resource (RFC 8707); null stands for the whole API. */
export function audienceOf(issuer: string, resource: string | null): string {
  const placeOf = (url: string): string =>
    `${new URL(url).origin}${new URL(url).pathname.replace(/\/$/, '')}`;
  const own = [MCP_PATH, CODEC_RESOURCE].map((path) => `${issuer}${path}`);
  return own.find((one) => resource !== null && placeOf(resource) === placeOf(one)) ?? AUDIENCE;
}

/** `scope` holds the roles, as the token response does. */
export async function signAccessToken(
  keys: SigningKeys,
  issuer: string,
  claims: Claims & { scope: string; jti: string },
  audience: string = AUDIENCE,
): Promise<string> {
  const { kid, privateKey } = await keys.current();
  const { sub, jti, ...own } = claims;
  return new SignJWT(own)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(sub)
    .setJti(jti)
    .setIssuedAt()
    .setExpirationTime(`${ACCESS_TOKEN_SECONDS}s`)
    .sign(privateKey);
}

interface Row {
  username: string;
  roles: Role[];
  groups: string[];
  teams: TeamRole[];
  awaits: boolean;
  status: string;
  token_epoch: number;
  session_id: string | null;
  /** Null without a session. */
  is_over: boolean | null;
  oauth_client_id: string | null;
  role_limit: Role | null;
  may_decide: boolean | null;
  client_row: string | null;
  scopes: string[] | null;
  verified_at: number | null;
}

const CALLER = new Prepared(
  `select u.username, ${rightsUnless('coalesce(s.awaits_second_factor, c.awaits_second_factor, false)')},
          u.status, u.token_epoch, s.id as session_id,
          s.revoked_at is not null or s.expires_at <= now() as is_over,
          s.oauth_client_id, s.role_limit, s.may_decide,
          c.id as client_row, coalesce(c.scopes, s.scopes) as scopes,
          extract(epoch from s.verified_at)::int as verified_at
     from user_account u
     left join auth_session s on s.id = ? and s.user_id = u.id
     left join auth_client c on c.id = ? and c.user_id = u.id and c.expires_at > now()
    where u.id = ?`,
);

/**
 * The current user for verified claims, by one indexed read; null if the token is revoked or the user
 * inactive. Raises `auth_time` of the claims to when the session's user last showed who it is.
 */
export async function actorOfClaims(em: EntityManager, claims: Claims): Promise<Actor | null> {
  const firstParty = claims.client_id === FIRST_PARTY_CLIENT;
  const [row] = await CALLER.execute<Row>(em, [claims.sid, firstParty ? null : claims.client_id, claims.sub]);
  const valid =
    row !== undefined &&
    row.status === 'active' &&
    row.token_epoch === claims.epoch &&
    row.is_over !== true &&
    (firstParty
      ? row.session_id !== null && row.oauth_client_id === null
      : row.oauth_client_id === claims.client_id || row.client_row !== null);
  if (!valid) return null;
  if (row.verified_at !== null) claims.auth_time = Math.max(claims.auth_time ?? 0, row.verified_at);
  const { username, roles, role_limit: limit, groups, teams, may_decide: mayDecide } = row;
  const user = {
    id: claims.sub,
    username,
    roles,
    groups,
    teams,
    ...(row.awaits && { awaitsSecondFactor: true }),
  };
  const actor = actorOfSession(user, limit, mayDecide ?? false);
  return scopedActor(actor, row.scopes);
}

/** An issuer's program, which an administrator has mapped to the account, never waits. */
const AWAITED = 'coalesce(s.awaits_second_factor, c.awaits_second_factor, t.awaits_second_factor, false)';

/** `actorOfClaims` for many claims in one statement; the results keep the order. */
export async function actorsOfClaims(
  em: EntityManager,
  claims: readonly Claims[],
): Promise<(Actor | null)[]> {
  if (claims.length === 0) return [];
  const requested = claims.map(({ sub, sid, client_id: client, epoch }) => ({
    sub,
    sid,
    client: client === FIRST_PARTY_CLIENT ? null : client,
    epoch,
  }));
  type Found = Actor & {
    n: number;
    role_limit: Role | null;
    may_decide: boolean | null;
    awaits: boolean;
    is_token: boolean;
  };
  const rows = await em.execute<Found[]>(
    `select q.n::int as n, u.id, u.username, s.role_limit, s.may_decide, ${rightsUnless(AWAITED)},
            coalesce(t.scopes, c.scopes, m.scopes, s.scopes) as scopes, t.id is not null as is_token
       from rows from (
              jsonb_to_recordset(?::jsonb) as (sub uuid, sid uuid, client uuid, epoch int)
            ) with ordinality as q(sub, sid, client, epoch, n)
       join user_account u on u.id = q.sub and u.status = 'active' and u.token_epoch = q.epoch
       left join auth_session s on s.id = q.sid and s.user_id = u.id
       left join auth_client c on c.id = q.client and c.user_id = u.id and c.expires_at > now()
       left join access_token t on t.id = q.client and t.user_id = u.id and t.expires_at > now()
       left join identity_machine m on m.id = q.client and m.user_id = u.id
        and exists (select 1 from identity_issuer r where r.id = m.issuer_id and r.enabled)
      where s.revoked_at is null and (s.id is null or s.expires_at > now())
        and case when q.client is null then s.id is not null and s.oauth_client_id is null
                 else coalesce(c.id, t.id, m.id) is not null or s.oauth_client_id = q.client end`,
    [JSON.stringify(requested)],
  );
  const actors = new Map(
    rows.map((row) => {
      const { n, id, username, roles, groups, teams = [], scopes = null } = row;
      const user = {
        id,
        username,
        roles,
        groups,
        teams,
        ...(row.awaits && { awaitsSecondFactor: true as const }),
      };
      const actor = scopedActor(actorOfSession(user, row.role_limit, row.may_decide ?? false), scopes);
      return [n, row.is_token ? { ...actor, accessToken: true as const } : actor];
    }),
  );
  return claims.map((_, index) => actors.get(index + 1) ?? null);
}
