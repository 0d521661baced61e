/** `cadenza server reset-admin`: a way back in for the operator when no administrator can log in. */
import { UserAccount } from '../../db/entities/user-account.ts';
import type { EntityManager } from '../../db/orm.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../domain/audit/write.ts';
import { removeFactors } from '../../domain/auth/second-factor.ts';
import { updateUser } from '../../domain/auth/users.ts';
import { generatePassword } from '../data-dir.ts';
import { ServerCommandError, withInstallation, type Installation } from './installation.ts';

export interface ResetOptions {
  /** Default: ADMIN_USERNAME. */
  username?: string | undefined;
  /** Default: a generated one, which the result has. */
  password?: string | undefined;
  /** Also remove authenticator app, passkeys and recovery codes. */
  withoutSecondFactor?: boolean | undefined;
}

export interface ResetResult {
  username: string;
  /** Absent if it was given. */
  password?: string;
}

const MIN_PASSWORD = 12;

/** @throws ServerCommandError, and errors of the database */
export function resetAdmin(options: ResetOptions & { dryRun?: boolean }): Promise<ResetResult> {
  return withInstallation<ResetResult>('running', (installation) =>
    (options.dryRun === true ? accountToReset : resetOpened)(installation, options),
  );
}

/** Whose password a reset would change, for the question before it. @throws ServerCommandError */
export async function accountToReset(
  { fork, env }: Installation,
  { username = env.ADMIN_USERNAME }: ResetOptions,
): Promise<Pick<ResetResult, 'username'>> {
  const user = await adminNamed(fork(), username);
  return { username: user.username };
}

/** New password, active again, all sessions ended, an entry in the audit log: together or not at all. */
export async function resetOpened(
  { fork, env }: Installation,
  { username = env.ADMIN_USERNAME, password, withoutSecondFactor = false }: ResetOptions,
): Promise<ResetResult> {
  if (password !== undefined && password.length < MIN_PASSWORD)
    throw new ServerCommandError(`The password must have at least ${MIN_PASSWORD} characters.`);
  const next = password ?? generatePassword();
  return fork().transactional(async (em) => {
    const user = await adminNamed(em, username);
    await updateUser(em, user, { password: next, status: 'active' });
    if (withoutSecondFactor) await removeFactors(em, user.id, env.SECOND_FACTOR_ROLES);
    await writeAudit(em, SYSTEM_ORIGIN, {
      action: 'reset_admin',
      objectType: 'user',
      objectId: user.id,
      data: { fields: ['password', ...(withoutSecondFactor ? ['second_factor'] : [])] },
    });
    return { username: user.username, ...(password === undefined ? { password: next } : {}) };
  });
}

async function adminNamed(em: EntityManager, username: string): Promise<UserAccount> {
  const user = await em.findOne(UserAccount, { username });
  if (user?.roles.includes('admin')) return user;
  const what = user === null ? `There is no user ${username}.` : `${username} is not an administrator.`;
  throw new ServerCommandError(`${what} ${await namesOfAdmins(em)}`);
}

const MAX_NAMES = 20;

async function namesOfAdmins(em: EntityManager): Promise<string> {
  const rows = await em.execute<{ username: string }[]>(
    `select username from user_account where 'admin' = any(roles) order by id limit ?`,
    [MAX_NAMES],
  );
  return rows.length === 0
    ? 'There is no administrator.'
    : `Administrators: ${rows.map(({ username }) => username).join(', ')}.`;
}
