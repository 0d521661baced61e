/** Turns what triggers have noted about accounts (db/functions/note_account_change.sql) into mails. */
import type { AccountMailKind } from '../../contracts/account-mails.ts';
import type { EntityManager, Orm } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { enqueueAccountMail, type MailData } from './account-mails.ts';

/** Notices of one transaction. */
const PAGE = 200;
/** Transactions of one call; what is left waits for the next. */
const MAX_PAGES = 50;

interface AccountNotice {
  id: string;
  user_id: string;
  data: MailData & { kind: AccountMailKind; former?: string };
  at: string;
}

/** Without a mail server they are only removed. */
export async function writeAccountNotices(orm: Orm, hasMail: boolean): Promise<void> {
  for (let page = 0; page < MAX_PAGES; page++) {
    const taken = await orm.em.fork().transactional((em) => writePage(em, hasMail));
    if (taken < PAGE) return;
  }
}

async function writePage(em: EntityManager, hasMail: boolean): Promise<number> {
  const notices = await em.execute<AccountNotice[]>(
    `delete from account_notice where id in (
       select id from account_notice order by id limit ? for update skip locked)
     returning id::text as id, user_id, data, at`,
    [PAGE],
  );
  if (!hasMail) return notices.length;
  const known = await em.execute<{ id: string }[]>(
    'select id from user_account where id = any(?::uuid[]) and erased_at is null for key share',
    [arrayLiteral(new Set(notices.map(({ user_id: id }) => id)))],
  );
  const people = new Set(known.map(({ id }) => id));
  for (const { user_id: userId, data, at } of notices.toSorted((a, b) => Number(a.id) - Number(b.id))) {
    if (!people.has(userId)) continue;
    const { kind, former, ...rest } = data;
    const mail = { kind, userId, data: { ...rest, at: new Date(at).toISOString() } };
    // To both: whoever took the account over has only one of them.
    if (former !== undefined) await enqueueAccountMail(em, { ...mail, address: former });
    await enqueueAccountMail(em, mail);
  }
  return notices.length;
}
