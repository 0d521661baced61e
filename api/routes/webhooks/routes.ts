/** Webhooks: docs/events-and-files.md#webhooks. */
import * as z from 'zod';

import { DEFAULT_FORMER_SECRET_SECONDS, MAX_FORMER_SECRET_SECONDS } from '../../../contracts/webhooks.ts';
import { heldBy } from '../../../domain/audit/write.ts';
import { holderOf } from '../../../domain/auth/ownership.ts';
import { findDelivery, listDeliveries } from '../../../domain/delivery/outbox.ts';
import { wakeTargets } from '../../../domain/delivery/reconcile.ts';
import type { DeliveryTarget } from '../../../domain/delivery/target.ts';
import { forbidden, notFound } from '../../../domain/errors.ts';
import { TYPE_PATTERN } from '../../../domain/events/type-filter.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  redeliver,
  redeliverFailed,
  rotateSecret,
  sendTest,
  updateWebhook,
} from '../../../domain/webhooks/service.ts';
import { checkQuota } from '../../../domain/quotas/check.ts';
import { isSecret } from '../../../domain/webhooks/signature.ts';
import { destinationOf, moveNote, moveObject, teamFor } from '../../../domain/teams/holding.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { byId, orderBy, readPage } from '../../paging.ts';
import {
  bigintText,
  emptyBody,
  flag,
  httpUrl,
  idParams,
  instant,
  newOwner,
  pageQuery,
  personOrMe,
  text,
  uuid,
} from '../../schemas.ts';
import {
  deliveryDetail,
  deliveryRecord,
  newWebhookRecord,
  presentDelivery,
  presentWebhook,
  webhookRecord,
} from './presenter.ts';

const TAGS = ['webhooks'];
const url = httpUrl(2_000).refine(
  (value) => !URL.canParse(value) || (new URL(value).username === '' && new URL(value).password === ''),
  'must not contain credentials: verify the signature instead',
);
const types = z
  .array(z.string().regex(TYPE_PATTERN, 'must be an event type or a pattern of event types'))
  .max(50)
  .meta({
    description:
      'Event types, such as `io.cadenza.hitl` (and all types below it) or `*.faulted.v1`. Default: all ' +
      'types.',
  });
const description = text({ max: 1_000 });
const secret = z
  .string()
  .refine(isSecret, 'must be whsec_ followed by 24 to 64 bytes in base64')
  .meta({ description: '`whsec_…` (Standard Webhooks); generated if omitted.' });
/** Fields that sets of resources share. */
export const webhookFields = { url, types, description };
const deliveryParams = z.object({ id: uuid, delivery_id: uuid });
const byOrd = orderBy<{ ord: string }, string>(bigintText, ({ ord }) => ord);

type Owned = Pick<DeliveryTarget, 'id' | 'owner_id' | 'team_id'>;

export function webhookEndpoints(deps: AppDeps): Endpoint[] {
  const wake = (c: EndpointContext, webhook: Owned, due: boolean): void => {
    const target = { id: webhook.id, holder_id: holderOf(webhook) };
    if (due) c.afterCommit(async () => void (await wakeTargets(deps.temporal, [target])));
  };
  return [
    endpoint({
      method: 'GET',
      path: '/webhooks',
      operationId: 'listWebhooks',
      summary: "List the caller's webhooks and those of their teams, newest first; admins see all",
      tags: TAGS,
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        owner_id: personOrMe.optional(),
        team_id: uuid.optional(),
        active: flag.optional(),
      }),
      responses: { 200: z.array(webhookRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listWebhooks(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map(presentWebhook), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks',
      operationId: 'createWebhook',
      summary: 'Subscribe a URL to the events that the caller may see',
      description:
        'Each event is POSTed as a CloudEvent 1.0 (structured JSON), signed as Standard Webhooks ' +
        '(`webhook-id`, `webhook-timestamp`, `webhook-signature`), in order and one at a time. Any ' +
        'response but 2xx within 15 s is retried for 24 hours, with pauses that double up to an hour. A ' +
        '410, or three deliveries in a row that were given up, disable the webhook. The URL must be ' +
        "https, unless EGRESS_ALLOW lists its host. Private addresses and the installation's own servers " +
        'are rejected immediately, and names that resolve to them at delivery. Redirects are not followed.',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      body: z.object({
        url,
        types: types.nullish(),
        description: description.nullish(),
        secret: secret.nullish(),
        active: z.boolean().nullish(),
        team_id: uuid.nullish().meta({
          description: 'A team: the webhook gets the events of its runs. Default: what the caller may see.',
        }),
      }),
      record: webhookRecord,
      responses: { 201: newWebhookRecord },
      errors: [403, 409],
      // The response contains a secret.
      idempotent: false,
      handler: async (c) => {
        checkUnlimited(c);
        const { body } = c;
        await deps.calledAddresses.checkDelivery(body.url);
        const team = await teamFor(c.em, c.actor, body.team_id);
        const created = await createWebhook(c.em, deps.encryption, c.actor, {
          url: body.url,
          types: body.types ?? [],
          description: body.description ?? null,
          active: body.active ?? true,
          secret: body.secret ?? undefined,
          team_id: team,
        });
        await checkQuota(c.em, deps.env, 'webhooks', team ?? c.actor.id);
        const webhook = presentWebhook(await getWebhook(c.em, c.actor, created.id));
        return {
          status: 201,
          body: { ...webhook, secret: created.secret },
          headers: { Location: `/webhooks/${created.id}`, 'Cache-Control': 'no-store', ETag: tagOf(webhook) },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/webhooks/{id}',
      operationId: 'getWebhook',
      summary: 'Get a webhook',
      tags: TAGS,
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
      summary: 'Update a webhook',
      description:
        'Reactivating a webhook retries its pending deliveries. An inactive webhook records no events. ' +
        'Another `secret` signs alone at once; `rotate-secret` leaves time to change over.',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      params: idParams,
      body: z.object({
        url: url.optional(),
        types: types.nullish(),
        description: description.nullish(),
        secret: secret.optional(),
        active: z.boolean().optional(),
        team_id: uuid.nullish().meta({ description: 'Gives it to a team, or with null to the caller.' }),
        owner_id: newOwner,
      }),
      record: webhookRecord,
      responses: { 200: webhookRecord },
      errors: [403, 409, 412],
      handler: async (c) => {
        checkUnlimited(c);
        const webhook = await getWebhook(c.em, c.actor, c.params.id, { lock: true });
        checkIfMatch(c.ctx, tagOf(presentWebhook(webhook)));
        const { types: wanted, team_id, owner_id, ...changes } = c.body;
        if (changes.url !== undefined) await deps.calledAddresses.checkDelivery(changes.url);
        const to = await destinationOf(c.em, c.actor, webhook, { team_id, owner_id }, 'approver');
        let held: Owned = webhook;
        if (to !== null) {
          const moved = await moveObject(c.em, c.actor, 'delivery_target', webhook, to);
          held = { id: webhook.id, ...moved };
          c.audit.note(moveNote(webhook, held));
          await checkQuota(c.em, deps.env, 'webhooks', moved.holder_id, { isMoved: true });
        }
        const due = await updateWebhook(c.em, deps.encryption, webhook, {
          ...changes,
          types: wanted === null ? [] : wanted,
        });
        // Deliveries count for whoever has the webhook now.
        wake(c, held, due);
        const changed = presentWebhook(await getWebhook(c.em, c.actor, webhook.id));
        return { status: 200, body: changed, headers: { ETag: tagOf(changed) } };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/webhooks/{id}',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook and its delivery log',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      params: idParams,
      responses: { 204: null },
      errors: [412],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id, { lock: true });
        checkIfMatch(c.ctx, tagOf(presentWebhook(webhook)));
        c.audit.note(heldBy(webhook.team_id));
        await deleteWebhook(c.em, webhook);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks/{id}/rotate-secret',
      operationId: 'rotateWebhookSecret',
      summary: 'Give a webhook a new secret, and sign with the former one too for a while',
      description:
        'The response shows the new secret. Until `former_secret_until` the header `webhook-signature` has ' +
        'two signatures, separated by a space, so that receivers can change over in that time. Another ' +
        'rotation ends the time of the one before. With `If-Match`, a repeated request rotates once.',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      params: idParams,
      body: z.object({
        former_secret_seconds: z
          .int()
          .min(0)
          .max(MAX_FORMER_SECRET_SECONDS)
          .optional()
          .meta({
            description:
              'How long requests are signed with the former secret too, at most 7 days; 0: not at all. ' +
              'Default: 24 hours.',
          }),
      }),
      responses: { 200: newWebhookRecord },
      errors: [403, 412],
      // The response contains a secret.
      idempotent: false,
      handler: async (c) => {
        checkUnlimited(c);
        const webhook = await getWebhook(c.em, c.actor, c.params.id, { lock: true });
        checkIfMatch(c.ctx, tagOf(presentWebhook(webhook)));
        const { former_secret_seconds: seconds = DEFAULT_FORMER_SECRET_SECONDS } = c.body;
        const rotated = await rotateSecret(c.em, deps.encryption, webhook, seconds);
        const changed = presentWebhook(await getWebhook(c.em, c.actor, webhook.id));
        return {
          status: 200,
          body: { ...changed, secret: rotated },
          headers: { 'Cache-Control': 'no-store', ETag: tagOf(changed) },
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks/{id}/test',
      operationId: 'testWebhook',
      summary: 'Send a test event',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      params: idParams,
      body: emptyBody,
      responses: { 202: deliveryRecord },
      errors: [409],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id);
        c.checkSyntax();
        const { delivery, due } = await sendTest(c.em, webhook, c.actor, deps.env.BASE_URL);
        wake(c, webhook, due);
        return { status: 202, body: presentDelivery(delivery) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/webhooks/{id}/deliveries',
      operationId: 'listWebhookDeliveries',
      summary: "List a webhook's deliveries, newest first",
      description: 'Deliveries are kept for 30 days.',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object({
        ...pageQuery,
        status: z.enum(['pending', 'delivered', 'failed']).optional(),
        run_id: uuid.optional(),
      }),
      responses: { 200: z.array(deliveryRecord) },
      errors: [403],
      handler: async (c) => {
        checkUnlimited(c);
        const webhook = await getWebhook(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byOrd, (page, filter) =>
          listDeliveries(c.em, webhook.id, filter, page),
        );
        return { status: 200, body: items.map(presentDelivery), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/webhooks/{id}/deliveries/{delivery_id}',
      operationId: 'getWebhookDelivery',
      summary: 'Get a delivery with its body',
      tags: TAGS,
      role: 'viewer',
      params: deliveryParams,
      responses: { 200: deliveryDetail },
      errors: [403],
      handler: async (c) => {
        checkUnlimited(c);
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
      summary: 'Redeliver one delivery',
      description: 'Sends the same bytes with the same `webhook-id`, after all pending deliveries.',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      params: deliveryParams,
      body: emptyBody,
      responses: { 202: deliveryRecord },
      errors: [409],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id);
        if (!(await findDelivery(c.em, webhook.id, c.params.delivery_id))) throw notFound('delivery');
        c.checkSyntax();
        const { delivery, due } = await redeliver(c.em, webhook, c.params.delivery_id);
        wake(c, webhook, due);
        return { status: 202, body: presentDelivery(delivery) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/webhooks/{id}/redeliver',
      operationId: 'redeliverFailedWebhookDeliveries',
      summary: 'Redeliver failed deliveries',
      description:
        'Resends deliveries that were given up and have not arrived since, oldest first, at most 1,000 and ' +
        '16 MiB; `redelivered` is their number, and another call goes on.',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      params: idParams,
      body: z.object({ since: instant.optional() }),
      responses: { 202: z.object({ redelivered: z.int() }) },
      errors: [409],
      handler: async (c) => {
        const webhook = await getWebhook(c.em, c.actor, c.params.id, { lock: true });
        c.checkSyntax();
        const { count, due } = await redeliverFailed(
          c.em,
          webhook,
          c.body.since === undefined ? null : new Date(c.body.since),
        );
        wake(c, webhook, due);
        return { status: 202, body: { redelivered: count } };
      },
    }),
  ];
}

/** ETag of the webhook's settings; deliveries do not change it. */
function tagOf(webhook: z.input<typeof webhookRecord>): string {
  return etag(webhook.id, webhook.updated_at, String(webhook.active));
}

/** A webhook receives all that its owner may see. @throws 403 for an OAuth client that may see less */
export function checkUnlimited({ actor }: Pick<EndpointContext, 'actor'>): void {
  const lacks = actor.scopes?.includes('events:read') === false || actor.scopes?.includes('admin') === false;
  if (actor.client?.limited !== true && !lacks) return;
  throw forbidden(
    'A webhook receives all that you may see, which is more than this client may.',
    'client_limited',
  );
}
