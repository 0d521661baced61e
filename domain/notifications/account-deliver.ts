/** Sends mails about accounts. A link gets its token here, so that no row of the outbox has it. */
import { OPTIONAL_MAIL_KINDS, type AccountMailKind } from '../../contracts/account-mails.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { isReachable } from '../../contracts/mail-address.ts';
import type { NotificationSettings } from '../../contracts/notifications.ts';
import type { EntityManager } from '../../db/orm.ts';
import { patiently, type Patience } from '../../db/patiently.ts';
import { addressOfLink } from '../auth/account-links.ts';
import { pauseMs, type RetryPolicy } from '../delivery/retry.ts';
import type { Mail, Mailer, SendOutcome } from '../ports.ts';
import type { MailData } from './account-mails.ts';
import { timeText, type MessageDeps } from './compose.ts';
import { unsubscribeKey } from './settings.ts';
import { renderMail, type TemplateValues } from './templates.ts';

interface AccountMailDeps extends MessageDeps {
  mailer: Mailer | null;
  retry: RetryPolicy;
}

const LINK = /\S*\/console\/password\S*/g;

interface DueMail {
  id: string;
  user_id: string;
  kind: AccountMailKind;
  address: string | null;
  link_id: string | null;
  data: MailData;
  attempts: number;
  expired: boolean;
  age_ms: number;
}

/** Sends the mail that has waited longest. @returns whether there was one */
export async function deliverAccountMail(
  deps: AccountMailDeps,
  shard: number,
  leaseMs: number,
  patience: Patience,
): Promise<boolean> {
  const due = await deps.orm.em.fork().transactional((em) => claim(em, shard, leaseMs));
  if (due === null) return false;
  const outcome = await send(deps, due);
  await patiently(
    () => deps.orm.em.fork().transactional((em) => record(em, deps.retry, due, outcome)),
    patience,
  );
  return true;
}

async function claim(em: EntityManager, shard: number, leaseMs: number): Promise<DueMail | null> {
  const [row] = await em.execute<DueMail[]>(
    `with due as (
       select id from account_mail
        where shard = ? and status = 'pending' and due_at <= clock_timestamp()
        order by due_at, id limit 1 for update skip locked)
     update account_mail m
        set attempts = attempts + 1, due_at = clock_timestamp() + ? * interval '1 millisecond'
       from due where m.id = due.id
     returning m.id, m.user_id, m.kind, m.address, m.link_id, m.data, m.attempts,
               m.expires_at <= clock_timestamp() as expired,
               (extract(epoch from clock_timestamp() - m.created_at) * 1000)::float8 as age_ms`,
    [shard, leaseMs],
  );
  return row ?? null;
}

/** Null: the mail is not needed any more. */
async function send(deps: AccountMailDeps, due: DueMail): Promise<SendOutcome | null> {
  if (deps.mailer === null)
    return { sent: false, permanent: false, error: 'Mails are not set up (SMTP_HOST)' };
  if (due.expired) return { sent: false, permanent: true, error: 'It could not be sent in time' };
  const mail = await deps.orm.em.fork().transactional((em) => compose(em, deps, due));
  if (mail === null) return null;
  if (!isReachable(mail.to)) return { sent: false, permanent: true, error: 'The person has no mail address' };
  const outcome = await deps.mailer.send(mail);
  // Filters name the addresses that they refuse.
  return outcome.sent ? outcome : { ...outcome, error: outcome.error.replaceAll(LINK, '[link]') };
}

interface Person {
  username: string;
  display_name: string | null;
  email: string;
  settings: NotificationSettings | null;
  actor: string | null;
}

async function compose(
  em: EntityManager,
  deps: AccountMailDeps,
  { id, user_id: userId, kind, address, link_id: linkId, data }: DueMail,
): Promise<Mail | null> {
  const [person] = await em.execute<Person[]>(
    `select u.username, u.display_name, u.email, s.content as settings,
            (select coalesce(a.display_name, a.username) from user_account a where a.id = ?::uuid) as actor
       from user_account u left join notification_settings s on s.user_id = u.id
      where u.id = ? and u.erased_at is null`,
    [data.by ?? null, userId],
  );
  const optional = OPTIONAL_MAIL_KINDS.find((one) => one === kind);
  if (optional !== undefined && person?.settings?.mail?.[optional] === false) return null;
  const link = linkId === null ? null : await addressOfLink(em, deps.links, linkId);
  if (person === undefined || (linkId !== null && link === null)) return null;
  const { hostname } = new URL(deps.baseUrl);
  const zone = person.settings?.time_zone ?? deps.timeZone;
  const choices = optional === undefined ? null : await choicesOf(em, deps, userId, optional);
  const rendered = renderMail(deps.templates[kind], {
    recipient: person.display_name ?? person.username,
    username: person.username,
    platform: hostname,
    actor: person.actor ?? '',
    link: link?.address ?? `${deps.baseUrl}/console/settings/${data.page ?? 'profile'}`,
    expires: timeText(link?.expiresAt.toISOString() ?? data.ends ?? null, zone),
    ...textsIn(data),
    at: timeText(data.at ?? null, zone),
    ...choices,
  });
  return {
    to: address ?? person.email,
    ...rendered,
    messageId: `<${id}@${hostname}>`,
    ...(choices === null ? {} : { unsubscribe: choices.unsubscribe_link }),
  };
}

/** What the text may name as it is. */
function textsIn({
  credential = '',
  change = '',
  factor = '',
  email = '',
  roles = '',
}: MailData): TemplateValues {
  return { credential, change, factor, email, roles };
}

async function choicesOf(em: EntityManager, { baseUrl }: AccountMailDeps, userId: string, kind: string) {
  const key = await unsubscribeKey(em, userId);
  return {
    settings_link: `${baseUrl}/console/settings/notifications`,
    unsubscribe_link: `${baseUrl}/notifications/unsubscribe/${key}?kinds=${kind}`,
  };
}

async function record(
  em: EntityManager,
  retry: RetryPolicy,
  { id, attempts, age_ms: ageMs, expired }: DueMail,
  outcome: SendOutcome | null,
): Promise<void> {
  const isFailed = outcome?.sent === false;
  const isOver = !isFailed || outcome.permanent || expired;
  const status = outcome === null ? 'dropped' : isFailed ? 'failed' : 'sent';
  const askedMs = isFailed ? (outcome.retryAfterMs ?? null) : null;
  const pause = pauseMs(retry, { attempts, ageMs: Math.max(ageMs, 0), askedMs });
  await em.execute(
    `update account_mail
        set status = case when ? then ? else status end, error = ?,
            due_at = clock_timestamp() + ? * interval '1 millisecond',
            done_at = case when ? then clock_timestamp() end
      where id = ? and status = 'pending'`,
    [isOver, status, isFailed ? cutTo(outcome.error, 1_000) : null, pause, isOver, id],
  );
}
