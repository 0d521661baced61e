/**
 * Links by which a person chooses the password of an account: of an invitation, or after it was forgotten
 * (docs/notifications.md#mails-about-accounts). A row beside the signed tokens says whether it was used, or
 * ended; the trigger `void_account_links` ends it when the account changes.
 */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import type { AuditNote } from '../audit/write.ts';
import { notFound } from '../errors.ts';
import { touchSchedulesOf } from '../schedules/state.ts';
import { hashPassword } from './password.ts';
import { endAllSessions, hashToken } from './sessions.ts';
import { linkGone, readPersonalLink, signPersonalLink, type LinkDeps } from './signed-link.ts';
import { forgetFailures } from './throttle.ts';

type LinkPurpose = 'invitation' | 'password';

export interface AccountLink {
  id: string;
  userId: string;
  purpose: LinkPurpose;
  expiresAt: Date;
}

const KIND = { typ: 'account-link+jwt', audience: 'cadenza-accounts' };
/** SQL: the link `l` may still be used. */
const IS_OPEN = `(l.used_at is null and l.void_at is null and l.expires_at > clock_timestamp())`;

/** Ends earlier links of the same purpose. The caller has locked the account's row. */
export async function createAccountLink(
  em: EntityManager,
  given: { userId: string; purpose: LinkPurpose; createdBy: string | null; lifetimeMs: number },
): Promise<AccountLink> {
  const { userId, purpose, createdBy, lifetimeMs } = given;
  await voidAccountLinks(em, userId, purpose);
  const [id, expiresAt] = [uuidv7(), new Date(Date.now() + lifetimeMs)];
  await em.execute(
    'insert into account_link (id, user_id, purpose, created_by, expires_at) values (?, ?, ?, ?, ?)',
    [id, userId, purpose, createdBy, expiresAt],
  );
  return { id, userId, purpose, expiresAt };
}

export async function voidAccountLinks(
  em: EntityManager,
  userId: string,
  purpose: LinkPurpose,
): Promise<void> {
  await em.execute(
    `update account_link set void_at = clock_timestamp()
      where user_id = ? and purpose = ? and used_at is null and void_at is null`,
    [userId, purpose],
  );
}

/**
 * An address with a new token, of which only the hash is stored. The token is in the part of the address that
 * browsers do not send, so no log of a server or proxy has it. Null if the link was used or has ended.
 */
export async function addressOfLink(
  em: EntityManager,
  deps: LinkDeps,
  linkId: string,
): Promise<{ address: string; expiresAt: Date } | null> {
  const [link] = await em.execute<{ user_id: string; expires_at: string }[]>(
    `select l.user_id, l.expires_at from account_link l where l.id = ? and ${IS_OPEN} for update`,
    [linkId],
  );
  if (link === undefined) return null;
  const expiresAt = new Date(link.expires_at);
  const token = await signPersonalLink(deps, KIND, { id: linkId, userId: link.user_id, expiresAt });
  await em.execute(
    'update account_link set token_hashes = array_append(token_hashes, ?::bytea) where id = ?',
    [hashToken(token), linkId],
  );
  return { address: `${deps.baseUrl}/console/password#${token}`, expiresAt };
}

interface OpenAccountLink extends AccountLink {
  username: string;
}

/** Changes nothing. @throws 404 for a token that is not ours, 410 for a link that was used or has ended */
export async function openAccountLink(
  em: EntityManager,
  deps: LinkDeps,
  token: string,
): Promise<OpenAccountLink> {
  const { id, userId } = await readPersonalLink(deps, KIND, token);
  const [link] = await em.execute<
    { purpose: LinkPurpose; expires_at: string; username: string; used: boolean; is_open: boolean }[]
  >(
    `select l.purpose, l.expires_at, u.username, l.used_at is not null as used,
            ${IS_OPEN} and u.status = 'active' as is_open
       from account_link l join user_account u on u.id = l.user_id
      where l.id = ? and l.user_id = ? and ?::bytea = any(l.token_hashes)`,
    [id, userId, hashToken(token)],
  );
  if (link === undefined) throw notFound('link');
  if (!link.is_open) throw accountLinkGone(link.used);
  const { purpose, username } = link;
  return { id, userId, purpose, username, expiresAt: new Date(link.expires_at) };
}

/**
 * Sets the password and ends all sessions; the second factor stays. `em` must not be in a transaction: the
 * hash takes long. @throws 404, 410
 */
export async function choosePassword(
  em: EntityManager,
  deps: LinkDeps,
  { token, password }: { token: string; password: string },
  audit: (em: EntityManager, note: Partial<AuditNote>) => Promise<void>,
): Promise<OpenAccountLink> {
  const link = await openAccountLink(em, deps, token);
  const hash = await hashPassword(password);
  await em.transactional(async (tx) => {
    await tx.execute('select from user_account where id = ? for update', [link.userId]);
    await useAccountLink(tx, link);
    await audit(tx, {
      actor: { id: link.userId, name: null },
      objectType: 'user',
      objectId: link.userId,
      data: { by: link.purpose },
    });
    await tx.execute('update user_account set password_hash = ?, updated_at = now() where id = ?', [
      hash,
      link.userId,
    ]);
    await endAllSessions(tx, [link.userId]);
    await touchSchedulesOf(tx, link.userId);
    // Who has forgotten a password has tried some.
    await forgetFailures(tx, link.userId);
  });
  return link;
}

/** @throws 410 if it was used or ended meanwhile */
async function useAccountLink(em: EntityManager, { id }: AccountLink): Promise<void> {
  const rows = await em.execute<object[]>(
    `update account_link l set used_at = clock_timestamp() where l.id = ? and ${IS_OPEN} returning 1`,
    [id],
  );
  if (rows.length > 0) return;
  const [used] = await em.execute('select from account_link where id = ? and used_at is not null', [id]);
  throw accountLinkGone(used !== undefined);
}

function accountLinkGone(isUsed: boolean): Error {
  return linkGone(
    isUsed
      ? 'The link has been used.'
      : 'The link is over: it was replaced or taken back, or the account has changed.',
  );
}
