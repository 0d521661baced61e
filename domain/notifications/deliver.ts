/**
 * Sends what is due to people and chats, by mail and chat: first mails about accounts. Several messages about
 * tasks to one receiver that are due become one. Every step is a row, so a crash at most repeats one message,
 * with the same `Message-ID`.
 */
import { cutTo } from '../../contracts/cut-text.ts';
import type { EntityManager, Orm } from '../../db/orm.ts';
import { patiently } from '../../db/patiently.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { pauseMs, type RetryPolicy } from '../delivery/retry.ts';
import type { DeliverySender, Mailer, SendOutcome } from '../ports.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { deliverAccountMail } from './account-deliver.ts';
import { openChannelUrl } from './channels.ts';
import { composeChat, composeMail, type MessageDeps } from './compose.ts';
import { readItems, type DueDelivery } from './due-items.ts';

export interface NotifyDeps extends MessageDeps {
  orm: Orm;
  encryption: Encryption;
  sender: DeliverySender;
  /** Null if mails cannot be sent. */
  mailer: Mailer | null;
  retry: RetryPolicy;
}

/** The most messages to one receiver that become one. */
const MAX_TOGETHER = 50;
const LEASE_MARGIN_MS = 30_000;

/** `wait_ms`: when to call again; null if nothing is due soon. */
export async function deliverNotifications(
  deps: NotifyDeps,
  shard: number,
  options: { max: number; signal: AbortSignal; heartbeat(this: void): void },
): Promise<{ sent: number; wait_ms: number | null }> {
  for (let sent = 0; sent < options.max; sent++) {
    options.heartbeat();
    options.signal.throwIfAborted();
    const leaseMs = deps.retry.timeoutMs + LEASE_MARGIN_MS;
    if (await deliverAccountMail(deps, shard, leaseMs, options)) continue;
    const claimed = await deps.orm.em.fork().transactional((em) => claim(em, shard, leaseMs));
    if (claimed.length === 0) return { sent, wait_ms: await waitMs(deps.orm.em.fork(), shard) };
    const items = await deps.orm.em.fork().transactional((em) => readItems(em, claimed));
    const outcome = items.length === 0 ? null : await send(deps, claimed, items, options.signal);
    const kept = new Set(items.map(({ delivery }) => delivery.id));
    const done = async (em: EntityManager): Promise<void> => {
      await drop(
        em,
        claimed.filter(({ id }) => !kept.has(id)),
      );
      if (outcome !== null)
        await record(
          em,
          deps.retry,
          claimed.filter(({ id }) => kept.has(id)),
          outcome,
        );
    };
    await patiently(() => deps.orm.em.fork().transactional(done), options);
  }
  return { sent: options.max, wait_ms: 0 };
}

/** Leases everything that is due to the receiver whose message has waited longest. */
async function claim(em: EntityManager, shard: number, leaseMs: number): Promise<DueDelivery[]> {
  const rows = await em.execute<DueDelivery[]>(
    `with head as (
       select user_id, channel_id from notification_delivery
        where shard = ? and status = 'pending' and due_at <= clock_timestamp()
        order by due_at, id limit 1),
     due as (
       select d.id from notification_delivery d, head h
        where d.user_id is not distinct from h.user_id and d.channel_id is not distinct from h.channel_id
          and d.shard = ? and d.status = 'pending' and d.due_at <= clock_timestamp()
        order by d.due_at, d.id limit ? for update of d skip locked)
     update notification_delivery d
        set attempts = attempts + 1, due_at = clock_timestamp() + ? * interval '1 millisecond'
       from due where d.id = due.id
     returning d.id, d.user_id, d.channel_id, d.notification_id, d.kind, d.task_id, d.attempts,
               d.expires_at <= clock_timestamp() as expired,
               (extract(epoch from clock_timestamp() - d.created_at) * 1000)::float8 as age_ms`,
    [shard, shard, MAX_TOGETHER, leaseMs],
  );
  // The first names the message, in every attempt.
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Until the next message is due, if that is soon; later ones are found by the reconciler. */
async function waitMs(em: EntityManager, shard: number): Promise<number | null> {
  const [row] = await em.execute<{ wait: number | null }[]>(
    `select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8 as wait
       from (select shard, due_at from notification_delivery where status = 'pending'
              union all select shard, due_at from account_mail where status = 'pending') waiting
      where shard = ? and due_at < clock_timestamp() + interval '1 minute'`,
    [shard],
  );
  const wait = row?.wait ?? null;
  return wait === null ? null : Math.max(Math.ceil(wait), 1);
}

async function send(
  deps: NotifyDeps,
  claimed: readonly DueDelivery[],
  items: Awaited<ReturnType<typeof readItems>>,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const channelId = claimed[0]?.channel_id ?? null;
  if (channelId !== null) return sendChat(deps, channelId, items, signal);
  if (deps.mailer === null)
    return { sent: false, permanent: false, error: 'Mails are not set up (SMTP_HOST)' };
  const mail = await composeMail(deps, items);
  if (mail === null) return { sent: false, permanent: true, error: 'The person has no mail address' };
  return deps.mailer.send(mail);
}

async function sendChat(
  deps: NotifyDeps,
  channelId: string,
  items: Awaited<ReturnType<typeof readItems>>,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const channel = await openChannelUrl(deps.orm.em.fork(), deps.encryption, channelId);
  if (channel === null) return { sent: false, permanent: true, error: 'The chat was removed or turned off' };
  return postChat(deps, channel.url, composeChat(deps, channel.format, items), signal);
}

/** Posts a message to a chat's webhook. */
export async function postChat(
  { sender, retry }: Pick<NotifyDeps, 'sender' | 'retry'>,
  url: string,
  body: string,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'Cadenza/1.0' };
  const answer = await sender.send({ url, headers, body, timeoutMs: retry.timeoutMs, signal });
  // The reason may contain the address, which is a secret.
  if ('refusal' in answer)
    return { sent: false, permanent: false, error: answer.refusal.replaceAll(url, '[address]') };
  const { status, retry_after_ms: retryAfterMs } = answer;
  if (status >= 200 && status < 300) return { sent: true };
  const gone = status === 404 || status === 410;
  const permanent = gone || (status >= 300 && status < 500 && status !== 408 && status !== 429);
  return { sent: false, permanent, error: `answered ${status}`, retryAfterMs, gone };
}

function drop(em: EntityManager, rows: readonly DueDelivery[]): Promise<unknown> {
  return rows.length === 0
    ? Promise.resolve()
    : em.execute(
        `update notification_delivery set status = 'dropped', done_at = clock_timestamp()
          where id = any(?::uuid[]) and status = 'pending'`,
        [arrayLiteral(rows.map(({ id }) => id))],
      );
}

/** A chat is turned off after this many messages in a row that were given up. */
const MAX_FAILURES = 3;

async function record(
  em: EntityManager,
  retry: RetryPolicy,
  rows: readonly DueDelivery[],
  outcome: SendOutcome,
): Promise<void> {
  const [first] = rows;
  if (!first) return;
  // What joins a message that cannot be sent does not prolong the others.
  const over = outcome.sent || outcome.permanent ? rows : rows.filter(({ expired }) => expired);
  const pause = pauseMs(retry, {
    attempts: first.attempts,
    ageMs: Math.max(first.age_ms, 0),
    askedMs: outcome.sent ? null : (outcome.retryAfterMs ?? null),
  });
  const recorded = await em.execute<object[]>(
    `update notification_delivery d
        set status = case when o.is_over then ?::text else d.status end, error = ?,
            due_at = clock_timestamp() + ? * interval '1 millisecond',
            done_at = case when o.is_over then clock_timestamp() end
       from (select id, id = any(?::uuid[]) as is_over from unnest(?::uuid[]) as id) o
      where d.id = o.id and d.status = 'pending'
     returning d.id`,
    [
      outcome.sent ? 'sent' : 'failed',
      outcome.sent ? null : cutTo(outcome.error, 1_000),
      pause,
      arrayLiteral(over.map(({ id }) => id)),
      arrayLiteral(rows.map(({ id }) => id)),
    ],
  );
  // Without a row it has been recorded, though the answer to that was lost.
  if (first.channel_id !== null && over.length > 0 && recorded.length > 0)
    await em.execute(
      `update notification_channel
          set failures = case when ? then 0 else failures + 1 end, last_error = ?,
              active = active and not ? and (? or failures + 1 < ?)
        where id = ?`,
      [
        outcome.sent,
        outcome.sent ? null : cutTo(outcome.error, 1_000),
        !outcome.sent && outcome.gone === true,
        outcome.sent,
        MAX_FAILURES,
        first.channel_id,
      ],
    );
}
