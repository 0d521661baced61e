/** Log-in by an external issuer: finds or makes the account of (issuer, subject). Never by e-mail address. */
import { v7 as uuidv7 } from 'uuid';

import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { endCookieSession, openCookieSession } from '../auth/cookie-sessions.ts';
import { writeAudit } from '../audit/write.ts';
import { endAllSessions, LOG_IN, originOfOpening, type OpenedFrom } from '../auth/sessions.ts';
import { settlePrograms } from '../auth/waiting-programs.ts';
import type { IssuedIdentity } from '../ports.ts';
import { holdTeamGroups } from '../teams/follow-groups.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { auditAccess, settleAccess } from './access.ts';
import { groupsOf, rolesOf, textAt, valuesAt } from './claims.ts';
import { issuedIds, issuedNames } from './issued-names.ts';
import type { Issuer } from './issuers.ts';
import { createAccount, followProfile } from './new-account.ts';

/** Why somebody whom the issuer knows may not log in. */
export type LogInRefusal = 'no_account' | 'no_roles' | 'disabled';

interface Found {
  identity_id: string;
  user_id: string;
  isNew?: true;
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
  await holdTeamGroups(em);
  await lockSubject(em, issuer.id, identity.subject);
  const found = (await findIdentity(em, issuer, identity)) ?? (await makeAccount(em, issuer, identity));
  if (found === null) return refused(em, from, issuer, 'no_account');
  await keepClaims(em, found.identity_id, issuer, identity);
  await followProfile(em, found.user_id, issuer, identity.claims);
  const { secondFactorRoles = [] } = from.policy ?? {};
  const settled = await settleAccess(em, [found.user_id], issuer, secondFactorRoles);
  // A second factor that this log-in has shown counts for the user's programs, too.
  await settlePrograms(em, [found.user_id], secondFactorRoles);
  await auditAccount(em, from, issuer, found);
  await auditAccess(em, originOfOpening(from), issuer, settled);
  if (!(await isActive(em, found.user_id))) return refused(em, from, issuer, 'disabled', found.user_id);
  if (settled.some(({ after }) => after.roles.length === 0)) {
    await endAllSessions(em, [found.user_id]);
    return refused(em, from, issuer, 'no_roles', found.user_id);
  }
  if (former !== null) await endCookieSession(em, former);
  const by = {
    identity_id: found.identity_id,
    issuer_sid: identity.session,
    sealIdToken: (id: string) => encryption.encrypt(identity.id_token, idTokenContext(id)),
    authenticated_at: identity.authenticated_at ?? (fresh ? new Date() : null),
    has_second_factor: hasSecondFactor(issuer, identity),
  };
  return {
    userId: found.user_id,
    secret: await openCookieSession(em, { id: found.user_id }, { ...from, by }),
  };
}

/** The account is held by now: it may have been disabled since the identity was found. */
async function isActive(em: EntityManager, userId: string): Promise<boolean> {
  const found = await em.execute<object[]>(`select from user_account where id = ? and status = 'active'`, [
    userId,
  ]);
  return found.length > 0;
}

async function auditAccount(
  em: EntityManager,
  from: OpenedFrom,
  { name }: Issuer,
  { user_id: id, isNew }: Found,
): Promise<void> {
  if (isNew !== true) return;
  const note = { action: 'issuer_create_user', objectType: 'user', objectId: id, data: { issuer: name } };
  await writeAudit(em, originOfOpening(from), note);
}

async function refused(
  em: EntityManager,
  from: OpenedFrom,
  issuer: Issuer,
  refusal: LogInRefusal,
  userId?: string,
): Promise<{ refusal: LogInRefusal }> {
  await auditRefusedLogIn(em, from, issuer, refusal, userId);
  return { refusal };
}

/** `code`: of the refusal. */
export async function auditRefusedLogIn(
  em: EntityManager,
  from: OpenedFrom,
  { id, name }: Issuer,
  code: string,
  userId?: string,
): Promise<void> {
  await writeAudit(em, originOfOpening(from), {
    action: LOG_IN,
    outcome: 'refused',
    objectType: 'identity_issuer',
    objectId: id,
    data: { by: 'issuer', issuer: name, code },
    ...(userId === undefined ? {} : { actor: { id: userId, name: null } }),
  });
}

function hasSecondFactor({ mapping }: Issuer, { claims }: IssuedIdentity): boolean {
  const { claim, value } = mapping.second_factor;
  return valuesAt(claims, claim).includes(value);
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
  identity: IssuedIdentity,
): Promise<Found | null> {
  const { subject } = identity;
  const [row] = await em.execute<Found[]>(
    `select id as identity_id, user_id from user_identity where issuer_id = ? and subject = ?`,
    [issuer.id, subject],
  );
  return row ?? findProvisioned(em, issuer, identity);
}

/**
 * Somebody whom the issuer has provisioned (SCIM), at the first log-in: by the claim that has the externalId,
 * which admins name. From then on the subject counts.
 */
async function findProvisioned(
  em: EntityManager,
  issuer: Issuer,
  { subject, claims }: IssuedIdentity,
): Promise<Found | null> {
  if (issuer.external_id_claim === null) return null;
  const [externalId] = valuesAt(claims, issuer.external_id_claim);
  if (externalId === undefined || /\p{C}/u.test(externalId)) return null;
  const [row] = await em.execute<Found[]>(
    `update user_identity set subject = ?
      where issuer_id = ? and external_id = ? and subject is null
      returning id as identity_id, user_id`,
    [subject, issuer.id, externalId],
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
  const identityId = await insertIdentity(em, issuer, userId, subject);
  return { identity_id: identityId, user_id: userId, isNew: true };
}

/** `subject`: null until the first log-in, of users whom the issuer provisions. @returns its id */
export async function insertIdentity(
  em: EntityManager,
  issuer: Pick<Issuer, 'id' | 'external_id_claim'>,
  userId: string,
  subject: string | null,
): Promise<string> {
  const id = uuidv7();
  const ids = subject === null ? [] : issuedIds(issuer, { subject, claims: {} });
  await em.execute(
    `insert into user_identity (id, user_id, issuer_id, subject, issued_ids)
     values (?, ?, ?, ?, ?::text[])`,
    [id, userId, issuer.id, subject, arrayLiteral(ids)],
  );
  return id;
}

/** What the claims of this log-in give. A name that somebody else had at the issuer is now this one's. */
export async function keepClaims(
  em: EntityManager,
  identityId: string,
  issuer: Issuer,
  identity: IssuedIdentity,
): Promise<void> {
  const { mapping } = issuer;
  const { claims } = identity;
  const names = arrayLiteral(issuedNames(mapping, claims));
  await em.execute(
    `update user_identity
        set claim_roles = ?::text[], claim_groups = ?::text[], label = ?, last_log_in_at = clock_timestamp(),
            issued_names = ?::text[], issued_ids = ?::text[], second_factor = second_factor or ?
      where id = ?`,
    [
      arrayLiteral(rolesOf(mapping, claims)),
      arrayLiteral(groupsOf(mapping, claims)),
      textAt(claims, mapping.username, 255) ?? textAt(claims, mapping.email, 255),
      names,
      arrayLiteral(issuedIds(issuer, identity)),
      hasSecondFactor(issuer, identity),
      identityId,
    ],
  );
  await em.execute(
    `update user_identity
        set issued_names = array(select name from unnest(issued_names) name where name <> all (?::text[]))
      where issuer_id = ? and id <> ? and issued_names && ?::text[]`,
    [names, issuer.id, identityId, names],
  );
}
