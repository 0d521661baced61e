/**
 * Webhooks: subscriptions to the events that their owner may see. `domain/delivery/` sends and retries.
 */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { listedBy, mayChange, type HolderFilter } from '../auth/ownership.ts';
import { enqueue, enqueueAgain, findDelivery, type DeliveryRow } from '../delivery/outbox.ts';
import { addTarget, removeTarget, updateTarget, type DisabledReason } from '../delivery/target.ts';
import { conflict, notFound } from '../errors.ts';
import { WEBHOOK_TEST_TYPE } from '../events/type-warnings.ts';
import { opened, type Encryption } from '../secrets/encryption.ts';
import { secretContext, WEBHOOK_KIND, webhookMessage } from './kind.ts';
import { newSecret } from './signature.ts';

export interface Webhook {
  id: string;
  owner_id: string;
  team_id: string | null;
  url: string;
  types: string[];
  description: string | null;
  active: boolean;
  disabled_reason: DisabledReason | null;
  disabled_at: Date | null;
  /** The first of the attempts that have failed in a row; null if the last one succeeded. */
  failing_since: Date | null;
  /** Why the last attempt failed. */
  last_error: string | null;
  /** Deliveries that wait, counted up to `MAX_COUNTED`. */
  pending: number;
  /** Until then requests are signed with the former secret too; null: with one secret. */
  former_secret_until: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** More are not counted: a list counts for each of its webhooks. */
const MAX_COUNTED = 100;
const COLUMNS = `t.id, t.owner_id, t.team_id, t.url, to_json(t.types) as types,
  w.description, t.active, t.disabled_reason, t.disabled_at, t.failing_since, t.last_error,
  (select count(*)::int
     from (select from delivery d
            where d.target_id = t.id and d.status = 'pending' limit ${MAX_COUNTED}) as waiting) as pending,
  case when w.former_secret_until > clock_timestamp() then w.former_secret_until end as former_secret_until,
  t.created_at, t.updated_at`;
const FROM = 'webhook w join delivery_target t on t.id = w.id';

export interface NewWebhook {
  url: string;
  types: string[];
  description: string | null;
  active: boolean;
  secret: string | undefined;
  team_id?: string | null | undefined;
}

/** @returns the id, and the secret with which receivers verify signatures; it is never shown again */
export async function createWebhook(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  fields: NewWebhook,
): Promise<{ id: string; secret: string }> {
  const id = uuidv7();
  const secret = fields.secret ?? newSecret();
  await addTarget(em, {
    id,
    kind: WEBHOOK_KIND,
    owner_id: actor.id,
    team_id: fields.team_id ?? null,
    url: fields.url,
    types: fields.types,
    active: fields.active,
  });
  await em.execute('insert into webhook (id, description, secret_encrypted) values (?, ?, ?)', [
    id,
    fields.description,
    encryption.encrypt(secret, secretContext(id)),
  ]);
  return { id, secret };
}

/** Visible to its owner or the builders of its team, and admins. @throws 404 */
export async function getWebhook(
  em: EntityManager,
  actor: Actor,
  id: string,
  options: { lock?: boolean } = {},
): Promise<Webhook> {
  const [row] = await em.execute<Webhook[]>(
    `select ${COLUMNS} from ${FROM} where w.id = ?${options.lock ? ' for update of t' : ''}`,
    [id],
  );
  if (!row || !mayChange(actor, row)) throw notFound('webhook');
  return row;
}

/** One of the owner's webhooks, locked. */
export async function findOwnWebhook(
  em: EntityManager,
  ownerId: string,
  id: string,
): Promise<Webhook | null> {
  const [row] = await em.execute<Webhook[]>(
    `select ${COLUMNS} from ${FROM} where w.id = ? and t.holder_id = ? for update of t`,
    [id, ownerId],
  );
  return row ?? null;
}

/** The oldest of the owner's webhooks with this address. */
export async function findOwnWebhooksByUrl(
  em: EntityManager,
  ownerId: string,
  url: string,
): Promise<Webhook[]> {
  return em.execute<Webhook[]>(
    `select ${COLUMNS} from ${FROM} where t.holder_id = ? and t.url = ? order by w.id limit 10`,
    [ownerId, url],
  );
}

export async function hasSecret(
  em: EntityManager,
  encryption: Encryption,
  id: string,
  secret: string,
): Promise<boolean> {
  const [row] = await em.execute<{ secret_encrypted: string }[]>(
    'select secret_encrypted from webhook where id = ?',
    [id],
  );
  return row !== undefined && opened(encryption, row.secret_encrypted, secretContext(id)) === secret;
}

/** Newest first. Admins see everyone's webhooks. */
export async function listWebhooks(
  em: EntityManager,
  actor: Actor,
  filter: HolderFilter & { active?: boolean | undefined },
  page: KeysetPage,
): Promise<Webhook[]> {
  const where = listedBy(actor, 't', filter);
  // In the words of the index of those that are off.
  where.add(`t.kind = '${WEBHOOK_KIND}'`);
  if (filter.active !== undefined) where.add(filter.active ? 't.active' : 'not t.active');
  if (page.after !== undefined) where.add('t.id < ?', page.after);
  return em.execute<Webhook[]>(
    `select ${COLUMNS} from ${FROM} where ${where.sql} order by t.id desc limit ?`,
    [...where.values, page.limit],
  );
}

export interface WebhookChanges {
  url?: string | undefined;
  types?: string[] | undefined;
  description?: string | null | undefined;
  active?: boolean | undefined;
  secret?: string | undefined;
}

/**
 * Another secret than the present one signs alone from then on: a former one ends.
 * @returns whether deliveries are due: the caller then wakes the target after the commit
 */
export async function updateWebhook(
  em: EntityManager,
  encryption: Encryption,
  webhook: Webhook,
  changes: WebhookChanges,
): Promise<boolean> {
  const { url, types, active, description, secret } = changes;
  const due = await updateTarget(em, webhook.id, {
    ...(url === undefined ? {} : { url }),
    ...(types === undefined ? {} : { types }),
    ...(active === undefined ? {} : { active }),
  });
  if (description !== undefined)
    await em.execute('update webhook set description = ? where id = ?', [description, webhook.id]);
  if (secret !== undefined && !(await hasSecret(em, encryption, webhook.id, secret))) {
    await em.execute(
      `update webhook set secret_encrypted = ?, former_secret_encrypted = null, former_secret_until = null
        where id = ?`,
      [encryption.encrypt(secret, secretContext(webhook.id)), webhook.id],
    );
  }
  return due;
}

/**
 * Gives the webhook a new secret. What is sent in the next `formerSeconds` is signed with the one before too;
 * one that was former already ends. @returns the new secret, which is never shown again
 */
export async function rotateSecret(
  em: EntityManager,
  encryption: Encryption,
  webhook: Webhook,
  formerSeconds: number,
): Promise<string> {
  const secret = newSecret();
  await updateTarget(em, webhook.id, {});
  await em.execute(
    `update webhook
        set former_secret_encrypted = case when ?::int > 0 then secret_encrypted end,
            former_secret_until = case when ?::int > 0 then clock_timestamp() + ? * interval '1 second' end,
            secret_encrypted = ?
      where id = ?`,
    [
      formerSeconds,
      formerSeconds,
      formerSeconds,
      encryption.encrypt(secret, secretContext(webhook.id)),
      webhook.id,
    ],
  );
  return secret;
}

export async function deleteWebhook(em: EntityManager, webhook: Webhook): Promise<void> {
  await removeTarget(em, webhook.id);
}

/** Sends a test event to this webhook only. @throws 409 if the webhook is not active */
export async function sendTest(
  em: EntityManager,
  webhook: Webhook,
  actor: Actor,
  baseUrl: string,
): Promise<Enqueued> {
  mustBeActive(webhook);
  const message = webhookMessage({
    specversion: '1.0',
    id: uuidv7(),
    source: `${baseUrl}/webhooks/${webhook.id}`,
    type: WEBHOOK_TEST_TYPE,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: { message: 'This is a test.', webhook_id: webhook.id, sent_by: actor.id },
  });
  return firstOf(
    em,
    webhook.id,
    await enqueue(em, webhook.id, [{ ...message, run_id: null, seq: null, part: 0 }]),
  );
}

export interface Enqueued {
  delivery: DeliveryRow;
  due: boolean;
}

/** @throws 404, or 409 while the delivery is pending or the webhook is not active */
export async function redeliver(em: EntityManager, webhook: Webhook, deliveryId: string): Promise<Enqueued> {
  const row = await findDelivery(em, webhook.id, deliveryId);
  if (!row) throw notFound('delivery');
  mustBeActive(webhook);
  if (row.status === 'pending') throw conflict('delivery_pending', 'The delivery is still being tried.');
  return firstOf(em, webhook.id, await enqueueAgain(em, webhook.id, [row]));
}

const MOST_REDELIVERED = 1_000;
const MOST_REDELIVERED_BYTES = 16 * 1024 * 1024;

/**
 * Queues again the deliveries that failed since then and were not sent again yet, oldest first, at most
 * `MOST_REDELIVERED`; the last of them is the one that brings the bodies to `MOST_REDELIVERED_BYTES`.
 */
export async function redeliverFailed(
  em: EntityManager,
  webhook: Webhook,
  since: Date | null,
): Promise<{ count: number; due: boolean }> {
  mustBeActive(webhook);
  const rows = await em.execute<DeliveryRow[]>(
    `select f.id, f.message_id, f.type, f.content_type, f.body, f.run_id, f.seq, f.redelivery_of
       from (
         select d.*, octet_length(d.body) as size,
                sum(octet_length(d.body)) over (order by d.ord rows unbounded preceding) as size_sum
           from delivery d
          where d.target_id = ? and d.status = 'failed' and d.redelivery_of is null
            and d.created_at >= coalesce(?::timestamptz, '-infinity')
            and not exists (select 1 from delivery n
                             where n.target_id = d.target_id and n.redelivery_of = d.id
                               and n.status <> 'failed')
          order by d.ord limit ?
       ) f
      where f.size_sum - f.size < ?
      order by f.ord`,
    [webhook.id, since?.toISOString() ?? null, MOST_REDELIVERED, MOST_REDELIVERED_BYTES],
  );
  const { ids, due } = await enqueueAgain(em, webhook.id, rows);
  return { count: ids.length, due };
}

async function firstOf(
  em: EntityManager,
  webhookId: string,
  { ids, due }: { ids: string[]; due: boolean },
): Promise<Enqueued> {
  const [id] = ids;
  const delivery = id === undefined ? null : await findDelivery(em, webhookId, id);
  if (!delivery) throw notFound('webhook');
  return { delivery, due };
}

function mustBeActive(webhook: Webhook): void {
  if (!webhook.active)
    throw conflict('webhook_inactive', 'The webhook is not active: PATCH it with {"active": true} first.');
}
