/** Accounts of people who log in by an issuer for the first time. */
import { v7 as uuidv7 } from 'uuid';

import type { ClaimMapping } from '../../contracts/identity.ts';
import { unreachableAddress } from '../../contracts/mail-address.ts';
import type { EntityManager } from '../../db/orm.ts';
import { textAt, valuesAt, type ClaimValues } from './claims.ts';
import type { Issuer } from './issuers.ts';

/** With a number at its end, for the next person of the same name. */
const MAX_TRIES = 50;

/**
 * Creates the account, without a password. Username and e-mail address are those of the claims if nobody has
 * them: they never lead to an account that exists. @returns the id
 */
export async function createAccount(em: EntityManager, issuer: Issuer, claims: ClaimValues): Promise<string> {
  // Of two people who come at once, the second sees the name of the first.
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('new account', 0))`);
  const id = uuidv7();
  const username = await freeUsername(em, usernameOf(issuer.mapping, claims), id);
  const email = await freeEmail(em, emailOf(issuer.mapping, claims));
  await em.execute(
    `insert into user_account (id, username, email, display_name, password_hash, roles, issuer_id)
     values (?, ?, ?, ?, null, '{}', ?)`,
    [
      id,
      username,
      email ?? unreachableAddress(username, issuer.name),
      textAt(claims, issuer.mapping.display_name, 255),
      issuer.id,
    ],
  );
  return id;
}

/** What the claims say about a person, for an account that exists: only what they may change. */
export async function followProfile(
  em: EntityManager,
  userId: string,
  issuer: Issuer,
  claims: ClaimValues,
): Promise<void> {
  const name = textAt(claims, issuer.mapping.display_name, 255);
  await em.execute(
    `update user_account set display_name = ?, updated_at = clock_timestamp()
      where id = ? and issuer_id = ? and ?::text is not null and display_name is distinct from ?`,
    [name, userId, issuer.id, name, name],
  );
}

/** As usernames are written, without the host of an e-mail address; `user` if nothing is left. */
function usernameOf(mapping: ClaimMapping, claims: ClaimValues): string {
  const [given = ''] = valuesAt(claims, mapping.username);
  const plain = given
    .slice(0, 400)
    .replace(/@.*$/s, '')
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]/g, '')
    .replace(/^[._-]+/, '')
    .slice(0, 90);
  return plain === '' ? 'user' : plain;
}

/** Null unless it looks like one and the issuer does not say that it is unverified. */
function emailOf(mapping: ClaimMapping, claims: ClaimValues): string | null {
  const [email] = valuesAt(claims, mapping.email);
  const isUsable =
    email !== undefined &&
    email.length <= 254 &&
    /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]+\.[^\s@\p{C}]+$/u.test(email) &&
    claims['email_verified'] !== false;
  return isUsable ? email : null;
}

async function freeUsername(em: EntityManager, wanted: string, id: string): Promise<string> {
  const tries = Array.from({ length: MAX_TRIES }, (_, n) => (n === 0 ? wanted : `${wanted}-${n + 1}`));
  const taken = await em.execute<{ name: string }[]>(
    `select lower(username) as name from user_account
      where lower(username) in (${tries.map(() => 'lower(?)').join(', ')})`,
    tries,
  );
  const names = new Set(taken.map(({ name }) => name));
  return tries.find((name) => !names.has(name.toLowerCase())) ?? `user-${id}`;
}

async function freeEmail(em: EntityManager, email: string | null): Promise<string | null> {
  if (email === null) return null;
  const [taken] = await em.execute<object[]>('select 1 from user_account where lower(email) = lower(?)', [
    email,
  ]);
  return taken ? null : email;
}
