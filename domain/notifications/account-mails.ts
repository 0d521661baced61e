/** The outbox of mails about accounts: a row is written with the change that it tells, without secrets. */
import { v7 as uuidv7 } from 'uuid';

import type { AccountMailKind } from '../../contracts/account-mails.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { AccountLink } from '../auth/account-links.ts';
import { SEND_FOR_MS, shardOf } from './shards.ts';

/** What a text names. `by` is an account's id, `ends` and `at` are times, `page` is one of the settings. */
export type MailData = Partial<
  Record<'by' | 'credential' | 'ends' | 'page' | 'change' | 'factor' | 'email' | 'roles' | 'at', string>
>;

interface NewAccountMail {
  kind: AccountMailKind;
  userId: string;
  /** Default: the address that the account has when the mail is sent. */
  address?: string;
  /** The mail has a token of it, which is made when it is sent. */
  link?: AccountLink | null;
  data?: MailData;
}

/** The caller knows that mails can be sent. */
export async function enqueueAccountMail(em: EntityManager, mail: NewAccountMail): Promise<void> {
  const { kind, userId, address = null, link = null, data = {} } = mail;
  const until = Math.min(Date.now() + SEND_FOR_MS, link?.expiresAt.getTime() ?? Infinity);
  await em.execute(
    `insert into account_mail (id, user_id, kind, address, link_id, data, shard, expires_at)
     values (?, ?, ?, ?, ?, ?::jsonb, ?, ?)`,
    [
      uuidv7(),
      userId,
      kind,
      address,
      link?.id ?? null,
      JSON.stringify(data),
      shardOf({ user_id: userId, channel_id: null }),
      new Date(until),
    ],
  );
  await em.execute(`select pg_notify('notice', '')`);
}

/** The shards in which such mails are due. */
export async function shardsWithMails(em: EntityManager): Promise<number[]> {
  const rows = await em.execute<{ shard: number }[]>(
    `select distinct shard from account_mail where status = 'pending' and due_at <= clock_timestamp()`,
  );
  return rows.map(({ shard }) => shard);
}
