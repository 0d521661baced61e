/** The live sessions of a user, as the user and administrators see and end them. */
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, type KeysetPage } from '../../db/sql.ts';
import { forbidden, notFound } from '../errors.ts';
import { FIRST_PARTY_CLIENT, type Claims } from './access-token.ts';

export interface OwnSession {
  id: string;
  created_at: Date;
  last_used_at: Date;
  expires_at: Date;
  address: string | null;
  user_agent: string | null;
  browser: boolean;
  /** Of an OAuth client's session. */
  client_name: string | null;
  role_limit: Role | null;
  awaits_second_factor: boolean;
}

/** Oldest first. */
export async function listSessions(
  em: EntityManager,
  userId: string,
  page: KeysetPage,
): Promise<OwnSession[]> {
  const rows = await em.execute<(Omit<OwnSession, TimeColumn> & Record<TimeColumn, string | Date>)[]>(
    `select s.id, s.created_at, s.last_used_at, s.expires_at, s.address, s.user_agent,
            s.cookie_hash is not null as browser, c.name as client_name, s.role_limit,
            s.awaits_second_factor
       from auth_session s left join oauth_client c on c.id = s.oauth_client_id
      where s.user_id = ? and s.revoked_at is null and s.expires_at > now() and s.id > ?
      order by s.id limit ?`,
    [userId, page.after ?? '00000000-0000-0000-0000-000000000000', page.limit],
  );
  return rows.map((row) => ({
    ...row,
    created_at: new Date(row.created_at),
    last_used_at: new Date(row.last_used_at),
    expires_at: new Date(row.expires_at),
  }));
}

type TimeColumn = 'created_at' | 'last_used_at' | 'expires_at';

/** @throws 404 */
export async function endSession(em: EntityManager, userId: string, id: string): Promise<void> {
  const ended = await em.execute<object[]>(
    `update auth_session set revoked_at = now()
      where id = ? and user_id = ? and revoked_at is null and expires_at > now() returning 1`,
    [id, userId],
  );
  if (ended.length === 0) throw notFound('session');
}

/** Ends all sessions but the caller's. Machine clients stay. */
export async function endOtherSessions(em: EntityManager, claims: Claims): Promise<void> {
  await em.execute(
    'update auth_session set revoked_at = now() where user_id = ? and id <> ? and revoked_at is null',
    [claims.sub, claims.sid],
  );
}

/** Ends all sessions of users. Machine clients, access tokens and workers' tokens stay. */
export async function endSessions(em: EntityManager, userIds: readonly string[]): Promise<void> {
  await em.execute(
    'update auth_session set revoked_at = now() where user_id = any(?::uuid[]) and revoked_at is null',
    [arrayLiteral(userIds)],
  );
}

/** For what only people may do, such as to end sessions or to approve new ones. @throws 403 */
export function checkPerson(claims: Pick<Claims, 'client_id'>): void {
  if (claims.client_id !== FIRST_PARTY_CLIENT) {
    throw forbidden(
      'Only a person may do this, in a session of their own: clients may not.',
      'person_required',
    );
  }
}
