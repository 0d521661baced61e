/** The identities of a user at external issuers. */
import { UserAccount } from '../../db/entities/user-account.ts';
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { conflict, notFound } from '../errors.ts';
import type { AuditOrigin } from '../audit/write.ts';
import type { Actor } from '../auth/actor.ts';
import { refuseLastAdmin } from '../auth/local-admins.ts';
import { endAllSessions } from '../auth/sessions.ts';
import { getUser } from '../auth/users.ts';
import { settlePrograms } from '../auth/waiting-programs.ts';
import type { IssuedIdentity } from '../ports.ts';
import { followGroups, holdMemberships, holdTeamGroups, type FollowedRole } from '../teams/follow-groups.ts';
import { auditAccess, composeGroups, settleAccess } from './access.ts';
import type { Issuer } from './issuers.ts';
import { insertIdentity, keepClaims, lockSubject } from './log-in.ts';

export interface Identity {
  id: string;
  issuer_id: string;
  issuer_name: string;
  issuer_title: string;
  /** Null until the first log-in of somebody who was provisioned. */
  subject: string | null;
  label: string | null;
  created_at: Date;
  last_log_in_at: Date | null;
}

/** Oldest first; without a page all, at most one for each issuer. */
export async function listIdentities(
  em: EntityManager,
  userId: string,
  { after, limit }: KeysetPage = { limit: 1_000 },
): Promise<Identity[]> {
  const rows = await em.execute<
    (Omit<Identity, 'created_at' | 'last_log_in_at'> & {
      created_at: string;
      last_log_in_at: string | null;
    })[]
  >(
    `select i.id, i.issuer_id, r.name as issuer_name, r.title as issuer_title, i.subject, i.label,
            i.created_at, i.last_log_in_at
       from user_identity i join identity_issuer r on r.id = i.issuer_id
      where i.user_id = ? and i.id > ? order by i.id limit ?`,
    [userId, after ?? '00000000-0000-0000-0000-000000000000', limit],
  );
  return rows.map((row) => ({
    ...row,
    created_at: new Date(row.created_at),
    last_log_in_at: row.last_log_in_at === null ? null : new Date(row.last_log_in_at),
  }));
}

/** Links an identity that admins know by its subject. @throws 409 */
export async function linkSubject(
  em: EntityManager,
  userId: string,
  issuer: Issuer,
  subject: string,
): Promise<string> {
  await lockSubject(em, issuer.id, subject);
  const [taken] = await em.execute<{ user_id: string; subject: string }[]>(
    `select user_id, subject from user_identity
      where issuer_id = ? and (subject = ? or user_id = ?) order by (subject = ?) desc limit 1`,
    [issuer.id, subject, userId, subject],
  );
  if (taken?.subject === subject)
    throw conflict('identity_taken', 'This identity belongs to an account already.');
  if (taken) throw conflict('already_linked', 'The account has an identity of this issuer already.');
  return insertIdentity(em, issuer, userId, subject);
}

/** Who links an identity, in which session. */
interface Linking {
  userId: string;
  sessionId: string;
  origin: AuditOrigin;
  secondFactorRoles: readonly Role[];
}

/** Links what the issuer has just told to the user of a live session. @throws 409; 404 if it has ended */
export async function linkOwnIdentity(
  em: EntityManager,
  { userId, sessionId, origin, secondFactorRoles }: Linking,
  issuer: Issuer,
  identity: IssuedIdentity,
): Promise<void> {
  await holdTeamGroups(em);
  const [live] = await em.execute<object[]>(
    `select 1 from auth_session s join user_account u on u.id = s.user_id
      where s.id = ? and u.id = ? and u.status = 'active' and s.revoked_at is null and s.expires_at > now()
        for no key update of u`,
    [sessionId, userId],
  );
  if (!live) throw notFound('session');
  const id = await linkSubject(em, userId, issuer, identity.subject);
  await keepClaims(em, id, issuer, identity);
  await auditAccess(em, origin, issuer, await settleAccess(em, [userId], issuer, secondFactorRoles));
  // A second factor that the issuer has asked for counts for the user's programs.
  await settlePrograms(em, [userId], secondFactorRoles);
}

/**
 * Unlinks an identity and ends the sessions that it opened. A second factor that its issuer has asked for
 * counts no more for the user's programs.
 * @returns what has changed of the roles that groups give in teams
 * @throws 404; 409 if no way to log in would be left
 */
export async function unlinkIdentity(
  em: EntityManager,
  userId: string,
  id: string,
  secondFactorRoles: readonly Role[],
): Promise<FollowedRole[]> {
  await holdMemberships(em, userId);
  const user = await getUser(em, userId, true);
  const identities = await listIdentities(em, userId);
  const found = identities.find((one) => one.id === id);
  if (!found) throw notFound('identity');
  if (user.issuer_id === found.issuer_id)
    throw conflict('managed_by_issuer', 'The issuer made this account, so the two stay linked.');
  if (user.password_hash === null && identities.length === 1)
    throw conflict('last_log_in', 'There would be no way left to log in: set a password first.');
  await em.execute('delete from user_identity where id = ?', [id]);
  await settlePrograms(em, [userId], secondFactorRoles);
  await composeGroups(em, [userId]);
  return followGroups(em, [userId]);
}

/** The caller logs in by an issuer only from now on; all sessions end. @throws 409 */
export async function switchPasswordOff(em: EntityManager, actor: Actor): Promise<void> {
  const user = await getUser(em, actor.id, true);
  if ((await listIdentities(em, actor.id)).length === 0)
    throw conflict('last_log_in', 'There would be no way left to log in: link an identity first.');
  await refuseLastAdmin(em, actor.id);
  await em.nativeUpdate(UserAccount, { id: user.id }, { password_hash: null, updated_at: new Date() });
  await endAllSessions(em, [user.id]);
}
