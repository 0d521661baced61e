/**
 * Credentials that end soon: who has to replace them is told 14 days before the end and again 3 days before,
 * once each (docs/notifications.md#mails-about-accounts).
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { enqueueAccountMail, type MailData } from '../notifications/account-mails.ts';

const FIRST_DAYS = 14;
const LAST_DAYS = 3;
/** Of one kind, in one call and its transaction; the next call writes the others. */
const MAX_MAILS = 500;
/** Of what concerns all admins, the first so many are told, by their ids. */
const MAX_ADMINS = 50;

interface CredentialKind {
  kind: 'access_token' | 'machine_client' | 'scim_token';
  table: string;
  /** As mails call it. */
  title: string;
  /** SQL: the account that it acts as. */
  owner: string;
  tellsAdmins: boolean;
  /** The part of the console's settings that has it, for its owner and for admins. */
  pages: { owner: string; admin: string };
}

const KINDS: readonly CredentialKind[] = [
  {
    kind: 'access_token',
    table: 'access_token',
    title: 'access token',
    owner: 'user_id',
    tellsAdmins: false,
    pages: { owner: 'tokens', admin: 'users' },
  },
  {
    kind: 'machine_client',
    table: 'auth_client',
    title: 'machine client',
    owner: 'user_id',
    tellsAdmins: true,
    pages: { owner: 'clients', admin: 'users' },
  },
  {
    kind: 'scim_token',
    table: 'scim_token',
    title: 'SCIM token',
    owner: 'null::uuid',
    tellsAdmins: true,
    pages: { owner: 'issuers', admin: 'issuers' },
  },
];

interface Ending {
  owner_id: string | null;
  name: string;
  expires_at: string;
}

/** @returns the number of mails that were written */
export async function tellOfEndingCredentials(em: EntityManager): Promise<number> {
  let mails = 0;
  for (const kind of KINDS) mails += await em.transactional((tx) => tellOf(tx, kind));
  return mails;
}

async function tellOf(em: EntityManager, kind: CredentialKind): Promise<number> {
  const admins = kind.tellsAdmins ? await activeAdmins(em) : [];
  const ending = await takeEnding(em, kind, Math.floor(MAX_MAILS / (admins.length + 1)));
  let mails = 0;
  for (const { owner_id: owner, name, expires_at: ends } of ending) {
    for (const userId of new Set([...(owner === null ? [] : [owner]), ...admins])) {
      const page = userId === owner ? kind.pages.owner : kind.pages.admin;
      const data: MailData = {
        credential: `${kind.title} ${name}`,
        ends: new Date(ends).toISOString(),
        page,
        ...(owner !== null && userId !== owner && { by: owner }),
      };
      await enqueueAccountMail(em, { kind: 'credential_ends', userId, data });
      mails += 1;
    }
  }
  return mails;
}

/**
 * Marks them as told, in the transaction that writes the mails. Accounts are held before their credentials,
 * as by whoever changes an account.
 */
async function takeEnding(
  em: EntityManager,
  { table, owner }: CredentialKind,
  most: number,
): Promise<Ending[]> {
  const due = await em.execute<{ id: string; owner_id: string | null }[]>(
    `select id, ${owner} as owner_id from ${table} where ${IS_DUE} order by expires_at, id limit ?`,
    [most],
  );
  const owners = new Set(due.flatMap(({ owner_id: id }) => id ?? []));
  await em.execute('select from user_account where id = any(?::uuid[]) order by id for key share', [
    arrayLiteral(owners),
  ]);
  // Of two workers, the second finds that they are told.
  return em.execute<Ending[]>(
    `update ${table}
        set told_days = case when ${endsWithin(LAST_DAYS)} then ${LAST_DAYS} else ${FIRST_DAYS} end
      where id = any(?::uuid[]) and ${IS_DUE}
     returning ${owner} as owner_id, name, expires_at`,
    [arrayLiteral(due.map(({ id }) => id))],
  );
}

function endsWithin(days: number): string {
  return `(expires_at > now() and expires_at <= now() + interval '${days} days')`;
}

/** Whoever makes one for a few days knows that it ends soon. */
function livesFor(days: number): string {
  return `expires_at - created_at >= interval '${days} days'`;
}

/** The range of times stands alone, for its index. */
const IS_DUE = `${endsWithin(FIRST_DAYS)}
  and (told_days is null and ${livesFor(FIRST_DAYS)}
       or ${endsWithin(LAST_DAYS)} and coalesce(told_days, ${FIRST_DAYS}) > ${LAST_DAYS}
          and ${livesFor(LAST_DAYS)})`;

async function activeAdmins(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select id from user_account where status = 'active' and roles @> array['admin'] order by id limit ?`,
    [MAX_ADMINS],
  );
  return rows.map(({ id }) => id);
}

/** How many credentials end within 3 days that were made for longer, by kind, for monitoring. */
export async function countEndingCredentials(em: EntityManager): Promise<Record<string, number>> {
  const rows = await em.execute<{ kind: string; count: number }[]>(
    KINDS.map(
      ({ kind, table }) =>
        `select '${kind}' as kind, count(*)::int as count from ${table}
          where ${endsWithin(LAST_DAYS)} and ${livesFor(LAST_DAYS)}`,
    ).join(' union all '),
  );
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
}
