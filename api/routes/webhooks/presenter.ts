/**
 * Converts webhooks and deliveries to JSON. Nothing else does. Only the response that creates a secret shows
 * it.
 */
import * as z from 'zod';

import type { ListedDelivery } from '../../../domain/delivery/outbox.ts';
import { typeWarnings } from '../../../domain/events/type-warnings.ts';
import type { Webhook } from '../../../domain/webhooks/service.ts';
import { personName } from '../../person-names.ts';
import { timestamp, uuid } from '../../schemas.ts';

export const webhookRecord = z
  .object({
    id: uuid,
    owner_id: uuid,
    owner_name: personName,
    team_id: uuid.nullable(),
    url: z.string(),
    types: z.array(z.string()).meta({
      description:
        'Event types: a name includes all types that continue it after a dot; `*` is a wildcard. ' +
        'An empty list means all types.',
    }),
    description: z.string().nullable(),
    active: z.boolean(),
    disabled_reason: z.enum(['gone', 'failing']).nullable().meta({
      description: 'Why the platform disabled the webhook: its URL answered 410, or deliveries kept failing.',
    }),
    disabled_at: timestamp.nullable(),
    failing_since: timestamp.nullable().meta({
      description:
        'When the first of the attempts failed that have failed in a row; null if the last succeeded.',
    }),
    last_error: z
      .string()
      .nullable()
      .meta({ description: 'Why the last attempt failed; null if it succeeded.' }),
    pending: z.int().meta({ description: 'Deliveries that wait to be sent; 100 also stands for more.' }),
    former_secret_until: timestamp.nullable().meta({
      description: 'After a rotation: requests are signed with the former secret too until then.',
    }),
    created_at: timestamp,
    updated_at: timestamp,
    warnings: z.array(z.object({ pointer: z.string(), message: z.string() })).meta({
      description: "Types that match none of Cadenza's own events, such as a name with a typing mistake.",
    }),
  })
  .meta({ id: 'Webhook' });

export const newWebhookRecord = webhookRecord
  .extend({ secret: z.string().meta({ description: 'Shown only once.' }) })
  .meta({ id: 'NewWebhook', variantOf: 'Webhook' });

const attemptRecord = z.object({
  at: timestamp,
  status: z.int().nullable(),
  error: z.string().nullable(),
  duration_ms: z.int(),
});

export const deliveryRecord = z
  .object({
    id: uuid,
    webhook_id: uuid,
    event_id: z.string().meta({
      description:
        '`webhook-id` of the request. Also the `id` of the CloudEvent, unless a workflow task emitted it.',
    }),
    type: z.string(),
    run_id: uuid.nullable(),
    seq: z.int().nullable().meta({ description: "Sequence number of the event in the run's log." }),
    status: z.enum(['pending', 'delivered', 'failed']),
    attempts: z.int(),
    attempt_log: z.array(attemptRecord).meta({ description: 'The last 50 attempts, oldest first.' }),
    response_status: z.int().nullable(),
    error: z.string().nullable(),
    redelivery_of: uuid.nullable(),
    created_at: timestamp,
    last_attempt_at: timestamp.nullable(),
    next_attempt_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
  })
  .meta({ id: 'Delivery' });

export const deliveryDetail = deliveryRecord
  .extend({ body: z.string().meta({ description: 'The exact request body.' }) })
  .meta({ id: 'DeliveryDetail', variantOf: 'Delivery' });

export function presentWebhook(webhook: Webhook): z.input<typeof webhookRecord> {
  const { id, owner_id, team_id, url, types, description, active, disabled_reason, last_error, pending } =
    webhook;
  return {
    id,
    owner_id,
    team_id,
    url,
    types,
    description,
    active,
    disabled_reason,
    disabled_at: optionalTime(webhook.disabled_at),
    failing_since: optionalTime(webhook.failing_since),
    last_error,
    pending,
    former_secret_until: optionalTime(webhook.former_secret_until),
    created_at: time(webhook.created_at),
    updated_at: time(webhook.updated_at),
    warnings: typeWarnings(types),
  };
}

export function presentDelivery(row: ListedDelivery): z.input<typeof deliveryRecord> {
  const {
    id,
    target_id,
    message_id,
    type,
    run_id,
    seq,
    status,
    attempts,
    attempt_log,
    response_status,
    error,
    redelivery_of,
  } = row;
  return {
    id,
    webhook_id: target_id,
    event_id: message_id,
    type,
    run_id,
    seq,
    status,
    attempts,
    attempt_log,
    response_status,
    error,
    redelivery_of,
    created_at: time(row.created_at),
    last_attempt_at: optionalTime(row.last_attempt_at),
    next_attempt_at: optionalTime(row.next_attempt_at),
    delivered_at: optionalTime(row.delivered_at),
  };
}

function time(value: Date | string): string {
  return new Date(value).toISOString();
}

function optionalTime(value: Date | string | null): string | null {
  return value === null ? null : time(value);
}
