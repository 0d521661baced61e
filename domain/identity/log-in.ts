/** Log-in by an external issuer: finds or makes the account of (issuer, subject). Never by e-mail address. */
import { v7 as uuidv7 } from 'uuid';

import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { endCookieSession, openCookieSession } from '../auth/cookie-sessions.ts';
import { endAllSessions, type OpenedFrom } from '../auth/sessions.ts';
import type { IssuedIdentity } from '../ports.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { settleAccess } from './access.ts';
import { groupsOf, rolesOf, textAt } from './claims.ts';
import type { Issuer } from './issuers.ts';
import { createAccount, followProfile } from './new-account.ts';

/** Why somebody whom the issuer knows may not log in. */
export type LogInRefusal = 'no_account' | 'no_roles' | 'disabled';

interface Found {
  identity_id: string;
  user_id: string;
  status: string;
}

export interface IdentityLogIn {
  issuer: Issuer;
  identity: IssuedIdentity;
  /** The issuer was told to ask for the credentials again. */
  fresh: boolean;
  from: OpenedFrom;
  /** The secret of the browser's former session. */
  former: string | null;
}

/** Opens a session in the caller's transaction, which is to be committed in both cases. */
export async function logInByIdentity(
  em: EntityManager,
  encryption: Encryption,
  { issuer, identity, fresh, from, former }: IdentityLogIn,
): Promise<{ userId: string; secret: string } | { refusal: LogInRefusal }> {
  await lockSubject(em, issuer.id, identity.subject);
  const found = (await findIdentity(em, issuer, identity)) ?? (await makeAccount(em, issuer, identity));
  if (found === null) return { refusal: 'no_account' };
  await keepClaims(em, found.identity_id, issuer, identity);
  await followProfile(em, found.user_id, issuer, identity.claims);
  const roles = await settleAccess(em, found.user_id, issuer);
  if (found.status !== 'active') return { refusal: 'disabled' };
  if (roles.length === 0) {
    await endAllSessions(em, found.user_id);
    return { refusal: 'no_roles' };
  }
  if (former !== null) await endCookieSession(em, former);
  const by = {
    identity_id: found.identity_id,
    issuer_sid: identity.session,
    sealIdToken: (id: string) => encryption.encrypt(identity.id_token, idTokenContext(id)),
    authenticated_at: identity.authenticated_at ?? (fresh ? new Date() : null),
  };
  return {
    userId: found.user_id,
    secret: await openCookieSession(em, { id: found.user_id }, { ...from, by }),
  };
}

/** Binds a sealed ID token to its session. */
export function idTokenContext(sessionId: string): string {
  return `auth_session:${sessionId}`;
}

/** Of two browsers in which somebody logs in for the first time, the second finds the account. */
export async function lockSubject(em: EntityManager, issuerId: string, subject: string): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 1))', [`${issuerId} ${subject}`]);
}

async function findIdentity(
  em: EntityManager,
  issuer: Issuer,
  { subject }: IssuedIdentity,
): Promise<Found | null> {
  const [row] = await em.execute<Found[]>(
    `select i.id as identity_id, u.id as user_id, u.status
       from user_identity i join user_account u on u.id = i.user_id
      where i.issuer_id = ? and i.subject = ?`,
    [issuer.id, subject],
  );
  return row ?? null;
}

/** Null if the issuer makes no accounts, or if its claims give no role. */
async function makeAccount(
  em: EntityManager,
  issuer: Issuer,
  { subject, claims }: IssuedIdentity,
): Promise<Found | null> {
  const { mapping } = issuer;
  const isWelcome = rolesOf(mapping, claims).length > 0 || mapping.default_roles.length > 0;
  if (!issuer.creates_users || !isWelcome) return null;
  const userId = await createAccount(em, issuer, claims);
  const identityId = uuidv7();
  await em.execute('insert into user_identity (id, user_id, issuer_id, subject) values (?, ?, ?, ?)', [
    identityId,
    userId,
    issuer.id,
    subject,
  ]);
  return { identity_id: identityId, user_id: userId, status: 'active' };
}

/** What the claims of this log-in give. */
export async function keepClaims(
  em: EntityManager,
  identityId: string,
  { mapping }: Issuer,
  { claims }: IssuedIdentity,
): Promise<void> {
  await em.execute(
    `update user_identity
        set claim_roles = ?::text[], claim_groups = ?::text[], label = ?, last_log_in_at = clock_timestamp()
      where id = ?`,
    [
      arrayLiteral(rolesOf(mapping, claims)),
      arrayLiteral(groupsOf(mapping, claims)),
      textAt(claims, mapping.username, 255) ?? textAt(claims, mapping.email, 255),
      identityId,
    ],
  );
}
