/** The users of an issuer as SCIM resources: those whose accounts the issuer made. */
import * as z from 'zod';

import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { issueText } from '../../contracts/issue-texts.ts';
import type { Role } from '../../contracts/roles.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { AuditOrigin } from '../audit/write.ts';
import { isLastLocalAdmin } from '../auth/local-admins.ts';
import { endAllSessions } from '../auth/sessions.ts';
import { auditAccess, settleAccess } from '../identity/access.ts';
import type { Issuer } from '../identity/issuers.ts';
import { issuedIdsOf } from '../identity/issued-names.ts';
import { insertIdentity } from '../identity/log-in.ts';
import { createAccount } from '../identity/new-account.ts';
import { touchSchedulesOf } from '../schedules/state.ts';
import { ScimError } from './errors.ts';
import { compileFilter } from './filter.ts';
import {
  COLUMNS,
  FROM,
  refuseOtherPerson,
  refuseTaken,
  userAttributes,
  userOf,
  type ScimUser,
  type UserRow,
} from './user-rows.ts';

const boolean = z.union([z.boolean(), z.stringbool()]);
const name = z.string().max(255);
const values = z
  .array(z.looseObject({ value: z.string().max(1_000).nullish(), primary: boolean.nullish() }))
  .max(50);

/** What counts of a user; other attributes are kept as they are sent. */
const userBody = z.looseObject({
  userName: z.string().min(1).max(255),
  externalId: name.nullish(),
  active: boolean.nullish(),
  displayName: name.nullish(),
  name: z
    .looseObject({ formatted: name.nullish(), givenName: name.nullish(), familyName: name.nullish() })
    .nullish(),
  emails: values.nullish(),
});
type UserBody = z.output<typeof userBody>;
const MAX_EXTRA_CHARACTERS = 16_384;

/** What provisions, in the caller's transaction. */
export interface Provisioning {
  em: EntityManager;
  issuer: Issuer;
  origin: AuditOrigin;
  secondFactorRoles: readonly Role[];
}

export interface ScimPage {
  filter: string | undefined;
  /** From 1. */
  startIndex: number;
  count: number;
}

/** Oldest first. */
export async function listScimUsers(
  em: EntityManager,
  issuer: Issuer,
  { filter, startIndex, count }: ScimPage,
): Promise<{ total: number; users: ScimUser[] }> {
  const where =
    filter === undefined ? { sql: 'true', values: [] } : compileFilter(filter, userAttributes(issuer));
  const [counted] = await em.execute<{ total: number }[]>(
    `select count(*)::int as total ${FROM} and (${where.sql})`,
    [issuer.id, ...where.values],
  );
  const rows =
    count === 0
      ? []
      : await em.execute<UserRow[]>(
          `select ${COLUMNS} ${FROM} and (${where.sql}) order by i.id offset ? limit ?`,
          [issuer.id, ...where.values, startIndex - 1, count],
        );
  return { total: counted?.total ?? 0, users: rows.map(userOf) };
}

/** @throws ScimError 404 */
export async function getScimUser(
  em: EntityManager,
  issuer: Issuer,
  id: string,
  lock = false,
): Promise<ScimUser> {
  const [row] = isUuid(id)
    ? await em.execute<UserRow[]>(`select ${COLUMNS} ${FROM} and u.id = ?${lock ? ' for update of u' : ''}`, [
        issuer.id,
        id,
      ])
    : [];
  if (!row) throw new ScimError(404, 'There is no such user.');
  return userOf(row);
}

/**
 * Creates an account, or takes up one that was removed with the same externalId.
 * @throws ScimError 400, 409
 */
export async function createScimUser(scim: Provisioning, body: unknown): Promise<ScimUser> {
  const { em, issuer } = scim;
  const user = parseUser(body);
  await refuseTaken(em, issuer, user, null);
  const [removed] = user.externalId
    ? await em.execute<{ id: string; user_id: string }[]>(
        `select id, user_id from user_identity
          where issuer_id = ? and removed_at is not null
            and (external_id = ? or scim is null and issued_ids && ?::text[])
          order by external_id limit 1 for update`,
        [issuer.id, user.externalId, arrayLiteral(issuedIdsOf(issuer, user.externalId))],
      )
    : [];
  const id = removed?.user_id ?? (await createAccount(em, issuer, claimsOf(issuer, user)));
  const identityId = removed?.id ?? (await insertIdentity(em, issuer, id, null));
  await store(scim, { id, identityId }, { ...user, active: user.active ?? true });
  return getScimUser(em, issuer, id);
}

/** Replaces a user; without `active` the account stays as it is. @throws ScimError 400, 404, 409 */
export async function replaceScimUser(
  scim: Provisioning,
  before: ScimUser,
  body: unknown,
): Promise<ScimUser> {
  const { em, issuer } = scim;
  const user = parseUser(body);
  await refuseTaken(em, issuer, user, before.identity_id);
  await refuseOtherPerson(em, issuer, before.identity_id, user.externalId);
  await store(scim, { id: before.id, identityId: before.identity_id }, user);
  return getScimUser(em, issuer, before.id);
}

/** The account is disabled and stays for its history; its user cannot log in. */
export async function deleteScimUser(
  scim: Provisioning,
  { id, identity_id: identityId }: ScimUser,
): Promise<void> {
  const { em } = scim;
  await setActive(em, id, false);
  await em.execute('delete from identity_group_member where user_id = ?', [id]);
  await em.execute('update user_identity set removed_at = clock_timestamp() where id = ?', [identityId]);
  await settle(scim, [id]);
}

async function store(
  scim: Provisioning,
  { id, identityId }: { id: string; identityId: string },
  user: UserBody,
): Promise<void> {
  const { em } = scim;
  const {
    userName,
    externalId,
    active,
    displayName,
    emails: _,
    id: __,
    meta: ___,
    schemas: ____,
    groups: _____,
    ...extra
  } = user;
  const shown = displayName ?? user.name?.formatted ?? fullName(user);
  await em.execute(
    `update user_identity set user_name = ?, external_id = ?, scim = ?::jsonb, label = ?, removed_at = null,
            updated_at = clock_timestamp()
      where id = ?`,
    [userName, externalId ?? null, JSON.stringify(extra), userName, identityId],
  );
  await em.execute('update user_account set display_name = ?, updated_at = clock_timestamp() where id = ?', [
    shown,
    id,
  ]);
  const email = emailOf(user);
  if (email !== null)
    await em.execute(
      `update user_account u set email = ? where id = ? and u.email <> ?
          and not exists (select 1 from user_account o where lower(o.email) = lower(?) and o.id <> u.id)`,
      [email, id, email, email],
    );
  if (typeof active === 'boolean') await setActive(em, id, active);
  await settle(scim, [id]);
}

/**
 * Gives users the roles, groups and memberships of teams that they have now by the issuer, in one entry of
 * the audit log for each.
 */
export async function settle(
  { em, issuer, origin, secondFactorRoles }: Provisioning,
  userIds: readonly string[],
): Promise<void> {
  await auditAccess(em, origin, issuer, await settleAccess(em, userIds, issuer, secondFactorRoles));
}

/** A disabled user loses all sessions with this commit. @throws ScimError 409 for the last administrator */
async function setActive(em: EntityManager, id: string, active: boolean): Promise<void> {
  if (!active && (await isLastLocalAdmin(em, id)))
    throw new ScimError(409, 'This is the last active administrator with a password.', 'mutability');
  const changed = await em.execute<object[]>(
    'update user_account set status = ? where id = ? and status <> ? returning 1',
    [active ? 'active' : 'disabled', id, active ? 'active' : 'disabled'],
  );
  if (changed.length === 0) return;
  await endAllSessions(em, [id]);
  await touchSchedulesOf(em, id);
}

function parseUser(body: unknown): UserBody {
  const parsed = userBody.safeParse(body, { error: issueText });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ScimError(400, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`, 'invalidValue');
  }
  if (JSON.stringify(parsed.data).length > MAX_EXTRA_CHARACTERS)
    throw new ScimError(400, `A user has at most ${MAX_EXTRA_CHARACTERS} characters of JSON.`, 'tooMany');
  return parsed.data;
}

/** As claims, for the name and the e-mail address of a new account. */
function claimsOf({ mapping }: Issuer, user: UserBody): Record<string, unknown> {
  const given = { [mapping.username]: user.userName, [mapping.email]: emailOf(user) ?? undefined };
  // Pointers lead into nested claims, which there are none of here.
  return Object.fromEntries(Object.entries(given).filter(([path]) => !path.startsWith('/')));
}

function emailOf({ emails }: UserBody): string | null {
  const all = emails ?? [];
  const chosen = all.find(({ primary }) => primary === true) ?? all[0];
  const email = chosen?.value ?? null;
  return email !== null &&
    email.length <= 254 &&
    /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]+\.[^\s@\p{C}]+$/u.test(email)
    ? email
    : null;
}

function fullName({ name: parts }: UserBody): string | null {
  const full = [parts?.givenName, parts?.familyName].filter(Boolean).join(' ');
  return full === '' ? null : full;
}
