/**
 * Forgotten passwords. The request writes one row by the same statements whether the account exists or not,
 * so its answer and its time tell nothing. Workers look at the row afterwards.
 */
import { isReachable } from '../../contracts/mail-address.ts';
import type { EntityManager, Orm } from '../../db/orm.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../audit/write.ts';
import { enqueueAccountMail } from '../notifications/account-mails.ts';
import { createAccountLink } from './account-links.ts';
import { accountKey, recordAttempt } from './throttle.ts';

/** Mails that one account gets within an hour, whoever asks. What is beyond is dropped in silence. */
const MAX_MAILS_AN_HOUR = 3;
/** Requests that one call looks at. */
const MAX_AT_ONCE = 200;

/**
 * Notes that somebody asks. From one address it counts 10 for one name and 100 in all in 15 minutes; by the
 * name as it was typed, so that the limit does not tell which names belong to one account. @throws 429
 */
export async function requestPasswordLink(
  em: EntityManager,
  { name, address }: { name: string; address: string },
): Promise<void> {
  const source = {
    account: `password-link:${accountKey(null, name)}`,
    address: `password-link:${address}`,
    perAccount: null,
    refusal: 'Too many requests for a new password. Try again later.',
  };
  await recordAttempt(em, source, false);
  await em.execute(
    `insert into password_request (user_id) values (
       (select id from user_account where lower(username) = lower(?) or lower(email) = lower(?)
         order by id limit 1))`,
    [name, name],
  );
  await em.execute(`select pg_notify('notice', '')`);
}

interface PasswordRequestDeps {
  orm: Orm;
  /** Whether mails can be sent. */
  hasMail: boolean;
  passwordLinkMinutes: number;
  /** A request could not be answered now; the next round tries again. */
  failed(error: unknown): void;
}

/** Writes the mails to those who are asked about. */
export async function answerPasswordRequests(deps: PasswordRequestDeps): Promise<void> {
  let after = '0';
  for (let count = 0; count < MAX_AT_ONCE; count++) {
    const taken: { id?: string } = {};
    try {
      if (!(await deps.orm.em.fork().transactional((em) => answerNext(em, deps, after, taken)))) return;
    } catch (error) {
      // One request does not hold up the others.
      if (taken.id === undefined) throw error;
      deps.failed(error);
      after = taken.id;
    }
  }
}

async function answerNext(
  em: EntityManager,
  deps: PasswordRequestDeps,
  after: string,
  taken: { id?: string },
): Promise<boolean> {
  const [request] = await em.execute<{ id: string; user_id: string | null }[]>(
    `delete from password_request where id = (
       select id from password_request where id > ?::bigint order by id limit 1 for update skip locked)
     returning id::text as id, user_id`,
    [after],
  );
  if (request === undefined) return false;
  taken.id = request.id;
  if (deps.hasMail && request.user_id !== null) await answer(em, deps, request.user_id);
  return true;
}

interface Asked {
  email: string;
  has_password: boolean;
  issuer_id: string | null;
  mails: number;
}

async function answer(
  em: EntityManager,
  { passwordLinkMinutes }: PasswordRequestDeps,
  userId: string,
): Promise<void> {
  const [user] = await em.execute<Asked[]>(
    `select email, password_hash is not null as has_password, issuer_id,
            (select count(*)::int from account_mail m
              where m.user_id = u.id and m.kind in ('password_link', 'no_password')
                and m.created_at > clock_timestamp() - interval '1 hour') as mails
       from user_account u where id = ? and status = 'active' for update`,
    [userId],
  );
  if (user === undefined || !isReachable(user.email) || user.mails >= MAX_MAILS_AN_HOUR) return;
  const mayChoose = user.has_password && user.issuer_id === null;
  const kind = mayChoose ? 'password_link' : 'no_password';
  const lifetimeMs = passwordLinkMinutes * 60_000;
  const link = mayChoose
    ? await createAccountLink(em, { userId, purpose: 'password', createdBy: null, lifetimeMs })
    : null;
  await enqueueAccountMail(em, { kind, userId, link });
  await writeAudit(em, SYSTEM_ORIGIN, {
    action: 'sendPasswordLink',
    objectType: 'user',
    objectId: userId,
    outcome: mayChoose ? 'done' : 'refused',
    ...(mayChoose ? {} : { data: { code: kind } }),
  });
}
