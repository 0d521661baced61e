/** Webhooks: interface-decisions §8. */
import * as z from 'zod';

import { findDelivery, listDeliveries } from '../../../domain/delivery/outbox.ts';
import { wakeTargets } from '../../../domain/delivery/reconcile.ts';
import { notFound } from '../../../domain/errors.ts';
import { typePattern } from '../../../domain/events/type-filter.ts';
import {
  createWebhook, deleteWebhook, getWebhook, listWebhooks, redeliver, redeliverFailed, sendTest, updateWebhook,
} from '../../../domain/webhooks/service.ts';
import { isSecret } from '../../../domain/webhooks/signature.ts';
import type { AppDeps } from '../../app.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { flag, httpUrl, idParams, instant, pageQuery, text, uuid } from '../../schemas.ts';
import { deliveryDetail, deliveryRecord, newWebhookRecord, presentDelivery, presentWebhook, webhookRecord } from './presenter.ts';

const tags = ['webhooks'];
const url = httpUrl(2_000).refine(
  (value) => !URL.canParse(value) || (new URL(value).username === '' && new URL(value).password === ''),
  'must not hold credentials: verify the signature instead',
);
const types = z
  .array(z.string().regex(typePattern, 'is no type of events, and no pattern of one'))
  .max(50)
  .meta({ description: 'Types of events, such as `io.cadenza.hitl` (and all that continue it) or `*.faulted.v1`; none: all.' });
const description = text({ max: 1_000 });
const secret = z
  .string()
  .refine(isSecret, 'is whsec_ and 24 to 64 bytes in base64')
  .meta({ description: '`whsec_…` (Standard Webhooks); generated if none is given.' });
const deliveryParams = z.object({ id: uuid, delivery_id: uuid });
const ordCursor = z.tuple([z.string().regex(/^\d{1,18}$/)]);

export function webhookEndpoints(deps: AppDeps): Endpoint[] {
  const wake = (c: EndpointContext, id: string, due: boolean): void => {
    if (due) c.afterCommit(async () => void (await wakeTargets(deps.temporal, [id])));
  };
  return [
    endpoint({
      method: 'GET',
      path: '/webhooks',
      operationId: 'listWebhooks',
      summary: "List the caller's webhooks, newest first; an admin's: everybody's",
      tags,
      role: 'viewer',
      query: z.object({ ...pageQuery, owner_id: uuid.optional(), active: flag.optional() }),
      responses: { 200: z.array(webhookRecord) },
      handler: async (c) => {
        const { limit, cursor, ...filter } = c.query;
        const rows = await listWebhooks(c.em, c.actor, filter, { before: decodeCursor(cursor, idCursor)?.[0], limit: limit + 1 });
        const { items, headers } = page(c, rows, limit, (row) => [row.id]);
        return { status: 200, body: items.map(presentWebhook), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks',
      operationId: 'createWebhook',
      summary: 'Subscribe a URL to the events that the caller may see',
      description:
        'Each event is POSTed as a CloudEvent 1.0 (structured JSON), signed as Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`), ' +
        'in order, one at a time. Anything but 2xx within 15 s is tried again for 24 hours, with pauses that double up to an hour. ' +
        '410, or three deliveries given up in a row, switch the webhook off. Only https, unless EGRESS_ALLOW names the host; redirects are not followed.',
      tags,
      role: 'approver',
      body: z.object({ url, types: types.nullish(), description: description.nullish(), secret: secret.nullish(), active: z.boolean().nullish() }),
      record: webhookRecord,
      responses: { 201: newWebhookRecord },
      // The answer holds a secret.
      idempotent: false,
      handler: async (c) => {
        const { body } = c;
        const made = await createWebhook(c.em, deps.encryption, c.actor, {
          url: body.url, types: body.types ?? [], description: body.description ?? null, active: body.active ?? true, secret: body.secret ?? undefined,
        });
        const webhook = presentWebhook(await getWebhook(c.em, c.actor, made.id));
        return { status: 201, body: { ...webhook, secret: made.secret }, headers: { Location: `/webhooks/${made.id}`, 'Cache-Control': 'no-store', ETag: tagOf(webhook) } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/webhooks/{id}',
      operationId: 'getWebhook',
      summary: 'Read a webhook',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 200: webhookRecord },
      handler: async (c) => {
        const webhook = presentWebhook(await getWebhook(c.em, c.actor, c.params.id));
        return { status: 200, body: webhook, headers: { ETag: tagOf(webhook) } };
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/webhooks/{id}',
      operationId: 'updateWebhook',
      summary: 'Change a webhook',
      description: 'Activating it again tries what is pending anew. While it is not active, no events are recorded for it.',
      tags,
      role: 'approver',
      params: idParams,
      body: z.object({ url: url.optional(), types: types.nullish(), description: description.nullish(), secret: secret.optional(), active: z.boolean().optional() }),
      record: webhookRecord,
      responses: { 200: webhookRecord },
      errors: [412],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id, { lock: true });
        checkIfMatch(c.ctx, tagOf(presentWebhook(webhook)));
        const { types: wanted, ...changes } = c.body;
        const due = await updateWebhook(c.em, deps.encryption, webhook, { ...changes, types: wanted === null ? [] : wanted });
        wake(c, webhook.id, due);
        const changed = presentWebhook(await getWebhook(c.em, c.actor, webhook.id));
        return { status: 200, body: changed, headers: { ETag: tagOf(changed) } };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/webhooks/{id}',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook with its log',
      tags,
      role: 'approver',
      params: idParams,
      responses: { 204: null },
      errors: [412],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id, { lock: true });
        checkIfMatch(c.ctx, tagOf(presentWebhook(webhook)));
        await deleteWebhook(c.em, webhook);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks/{id}/test',
      operationId: 'testWebhook',
      summary: 'Send a test event',
      tags,
      role: 'approver',
      params: idParams,
      body: z.object({}),
      responses: { 202: deliveryRecord },
      errors: [409],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id);
        c.checkSyntax();
        const { delivery, due } = await sendTest(c.em, webhook, c.actor, deps.env.BASE_URL);
        wake(c, webhook.id, due);
        return { status: 202, body: presentDelivery(delivery) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/webhooks/{id}/deliveries',
      operationId: 'listWebhookDeliveries',
      summary: 'The log of deliveries, newest first',
      description: 'Kept for 30 days.',
      tags,
      role: 'viewer',
      params: idParams,
      query: z.object({ ...pageQuery, status: z.enum(['pending', 'delivered', 'failed']).optional(), run_id: uuid.optional() }),
      responses: { 200: z.array(deliveryRecord) },
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id);
        const { limit, cursor, ...filter } = c.query;
        const rows = await listDeliveries(c.em, webhook.id, filter, { before: decodeCursor(cursor, ordCursor)?.[0], limit: limit + 1 });
        const { items, headers } = page(c, rows, limit, (row) => [row.ord]);
        return { status: 200, body: items.map(presentDelivery), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/webhooks/{id}/deliveries/{delivery_id}',
      operationId: 'getWebhookDelivery',
      summary: 'A delivery with its body',
      tags,
      role: 'viewer',
      params: deliveryParams,
      responses: { 200: deliveryDetail },
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id);
        const row = await findDelivery(c.em, webhook.id, c.params.delivery_id);
        if (!row) throw notFound('delivery');
        return { status: 200, body: { ...presentDelivery(row), body: row.body } };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks/{id}/deliveries/{delivery_id}/redeliver',
      operationId: 'redeliverWebhookDelivery',
      summary: 'Send one delivery again',
      description: 'The same bytes under the same `webhook-id`, behind all that is pending.',
      tags,
      role: 'approver',
      params: deliveryParams,
      body: z.object({}),
      responses: { 202: deliveryRecord },
      errors: [409],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id);
        if (!(await findDelivery(c.em, webhook.id, c.params.delivery_id))) throw notFound('delivery');
        c.checkSyntax();
        const { delivery, due } = await redeliver(c.em, webhook, c.params.delivery_id);
        wake(c, webhook.id, due);
        return { status: 202, body: presentDelivery(delivery) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks/{id}/redeliver',
      operationId: 'redeliverFailedWebhookDeliveries',
      summary: 'Send again what failed',
      description: 'Every delivery that was given up and has not arrived since, oldest first, 1,000 at most.',
      tags,
      role: 'approver',
      params: idParams,
      body: z.object({ since: instant.optional() }),
      responses: { 202: z.object({ redelivered: z.int() }) },
      errors: [409],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id, { lock: true });
        c.checkSyntax();
        const { count, due } = await redeliverFailed(c.em, webhook, c.body.since === undefined ? null : new Date(c.body.since));
        wake(c, webhook.id, due);
        return { status: 202, body: { redelivered: count } };
      },
    }),
  ];
}

/** Of what people change: deliveries do not touch it. */
function tagOf(webhook: z.input<typeof webhookRecord>): string {
  return etag(webhook.id, webhook.updated_at, String(webhook.active));
}
