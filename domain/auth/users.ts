/** Users, managed by administrators, and the change of one's own password. */
import { v7 as uuidv7 } from 'uuid';

import type { Budget } from '../../contracts/budgets.ts';
import { UserAccount } from '../../db/entities/user-account.ts';
import { LockMode, type EntityManager, type FilterQuery } from '../../db/orm.ts';
import { containsPattern, type KeysetPage } from '../../db/sql.ts';
import type { AuditNote } from '../audit/write.ts';
import { conflict, invalid, notFound } from '../errors.ts';
import type { Role } from '../../contracts/roles.ts';
import type { Actor } from './actor.ts';
import { GROUP_SEPARATOR } from '../../contracts/identity.ts';
import { refuseLastAdmin } from './local-admins.ts';
import { hashPassword, verifyPassword } from './password.ts';
import { endAllSessions } from './sessions.ts';
import { touchSchedulesOf } from '../schedules/state.ts';
import { followGroups, holdTeamGroups, type FollowedRole } from '../teams/follow-groups.ts';
import { checkThrottle, forgetFailures, recordAttempt } from './throttle.ts';

export interface NewUser {
  username: string;
  email: string;
  /** Null: the user logs in by an external issuer only. */
  password: string | null;
  display_name?: string | null | undefined;
  roles: Role[];
  groups?: string[] | undefined;
  budget?: Budget | null | undefined;
}

export type UserChanges = Partial<
  Pick<
    UserAccount,
    'username' | 'email' | 'display_name' | 'roles' | 'groups' | 'status' | 'budget' | 'quotas'
  >
> & { /** Null switches the log-in by password off. */ password?: string | null };

export interface UserFilter {
  q?: string | undefined;
  role?: Role | undefined;
  group?: string | undefined;
  status?: UserAccount['status'] | undefined;
}

/** @returns the roles in teams that the groups give, too */
export async function createUser(
  em: EntityManager,
  args: NewUser,
): Promise<{ user: UserAccount; teams: FollowedRole[] }> {
  checkGroups(args.groups ?? [], []);
  await refuseTaken(em, args);
  const now = new Date();
  const user = em.create(UserAccount, {
    id: uuidv7(),
    username: args.username,
    email: args.email,
    display_name: args.display_name ?? null,
    password_hash: args.password === null ? null : await hashPassword(args.password),
    issuer_id: null,
    roles: unique(args.roles),
    groups: unique(args.groups ?? []),
    status: 'active',
    second_factor: false,
    token_epoch: 1,
    budget: args.budget ?? null,
    quotas: null,
    invited_until: null,
    erased_at: null,
    created_at: now,
    updated_at: now,
  });
  await em.persist(user).flush();
  if (user.groups.length === 0) return { user, teams: [] };
  await holdTeamGroups(em);
  return { user, teams: await followGroups(em, [user.id]) };
}

/** Oldest first. */
export async function listUsers(
  em: EntityManager,
  filter: UserFilter,
  page: KeysetPage,
): Promise<UserAccount[]> {
  const where: FilterQuery<UserAccount>[] = [];
  if (page.after) where.push({ id: { $gt: page.after } });
  if (filter.status) where.push({ status: filter.status });
  if (filter.role) where.push({ roles: { $contains: [filter.role] } });
  if (filter.group) where.push({ groups: { $contains: [filter.group] } });
  if (filter.q) {
    const like = containsPattern(filter.q);
    where.push({
      $or: [{ username: { $ilike: like } }, { email: { $ilike: like } }, { display_name: { $ilike: like } }],
    });
  }
  return em.find(UserAccount, { $and: where }, { orderBy: { id: 'asc' }, limit: page.limit });
}

export async function getUser(em: EntityManager, id: string, lock = false): Promise<UserAccount> {
  const user = await em.findOne(UserAccount, { id }, lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {});
  if (!user) {
    throw notFound('user');
  }
  return user;
}

/** As a reference to the account does: it is not erased before the end of the transaction. */
export async function holdAccount(em: EntityManager, id: string): Promise<void> {
  await em.execute('select from user_account where id = ? for key share', [id]);
}

/** Before the user is locked: a user that was read earlier would not be read anew. @throws 404 */
export async function checkUserExists(em: EntityManager, id: string): Promise<void> {
  if ((await em.count(UserAccount, { id })) === 0) throw notFound('user');
}

/**
 * Changes a locked user. A new password or a new status ends all sessions. For other groups, the memberships
 * are held before the user is locked. @returns the roles in teams that other groups give, too
 */
export async function updateUser(
  em: EntityManager,
  user: UserAccount,
  changes: UserChanges,
): Promise<{ user: UserAccount; teams: FollowedRole[] }> {
  const { password, ...fields } = changes;
  if (user.erased_at) throw conflict('erased', 'The data of this user was erased: create a new account.');
  checkGroups(changes.groups ?? [], user.groups);
  checkManaged(user, changes);
  await refuseTaken(em, changes, user.id);
  const staysAdmin =
    (changes.roles ?? user.roles).includes('admin') && (changes.status ?? user.status) === 'active';
  if (user.roles.includes('admin') && (!staysAdmin || password === null)) await refuseLastAdmin(em, user.id);
  const endsSessions =
    password !== undefined || (changes.status !== undefined && changes.status !== user.status);
  // As the database does, which ends the links to choose a password (`void_account_links`).
  const endsLinks = endsSessions || (changes.email !== undefined && changes.email !== user.email);
  em.assign(user, fields);
  user.roles = unique(user.roles);
  user.groups = unique(user.groups);
  if (password !== undefined) {
    user.password_hash = password === null ? null : await hashPassword(password);
  }
  if (endsLinks) user.invited_until = null;
  user.updated_at = new Date();
  await em.flush();
  const teams = fields.groups === undefined ? [] : await followGroups(em, [user.id]);
  if (endsSessions) {
    await endAllSessions(em, [user.id]);
    await touchSchedulesOf(em, user.id);
  }
  if (password) await forgetFailures(em, user.id);
  return { user, teams };
}

/**
 * Changes the caller's own password and ends all sessions. `em` must not be in a transaction, so that a wrong
 * password stays counted.
 */
export async function changeOwnPassword(
  em: EntityManager,
  actor: Actor,
  address: string,
  args: { current: string; next: string },
  audit: (em: EntityManager, note: Partial<AuditNote>) => Promise<void>,
): Promise<void> {
  // Counted separately from log-ins: strangers who guess passwords must not keep the owner from changing
  // theirs.
  const source = { account: `change:${actor.id}`, address, perAccount: 10 };
  await checkThrottle(em, source);
  const seen = await getUser(em, actor.id);
  const fits = await verifyPassword(args.current, seen.password_hash ?? null);
  const nextHash = fits ? await hashPassword(args.next) : '';
  const changed = await em.transactional(async (tx) => {
    if (!(await recordAttempt(tx, source, fits))) {
      await audit(tx, { outcome: 'refused', data: { code: 'wrong_password' } });
      return false;
    }
    await audit(tx, {});
    const updated = await tx.nativeUpdate(
      UserAccount,
      { id: actor.id, password_hash: seen.password_hash },
      { password_hash: nextHash, updated_at: new Date() },
    );
    await endAllSessions(tx, [actor.id]);
    return updated === 1;
  });
  if (!changed) {
    throw invalid([
      { pointer: '/current_password', code: 'wrong_password', message: 'is not your password' },
    ]);
  }
}

async function refuseTaken(
  em: EntityManager,
  args: { username?: string; email?: string },
  exceptId?: string,
): Promise<void> {
  const rows = await em.execute<{ username: string; email: string }[]>(
    `select username, email from user_account
      where (lower(username) = lower(?) or lower(email) = lower(?)) and id is distinct from ?`,
    [args.username ?? '', args.email ?? '', exceptId ?? null],
  );
  const [row] = rows;
  if (row) {
    const field = row.username.toLowerCase() === args.username?.toLowerCase() ? 'username' : 'email';
    throw conflict(
      `${field}_taken`,
      `Another user has this ${field === 'email' ? 'e-mail address' : 'username'}.`,
    );
  }
}

/** Groups of issuers begin with the issuer's name and a colon, and only issuers give them. @throws 422 */
function checkGroups(groups: readonly string[], held: readonly string[]): void {
  const foreign = groups.findIndex((name) => name.includes(GROUP_SEPARATOR) && !held.includes(name));
  if (foreign < 0) return;
  const message = `must not contain “${GROUP_SEPARATOR}”: such groups come from issuers`;
  throw invalid([{ pointer: `/groups/${foreign}`, code: 'group_of_issuer', message }]);
}

/** @throws 409 */
function checkManaged(user: UserAccount, { roles }: UserChanges): void {
  const isSame = roles === undefined || unique(roles).sort().join() === [...user.roles].sort().join();
  if (user.issuer_id !== null && !isSame)
    throw conflict(
      'managed_by_issuer',
      'The issuer that made this account decides on its roles: change the mapping of its claims.',
    );
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
