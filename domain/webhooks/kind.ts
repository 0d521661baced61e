/**
 * Webhooks as a kind of delivery target: a CloudEvent for each event, signed as Standard Webhooks specifies.
 */
import type { Orm } from '../../db/orm.ts';
import type { DeliveryKind, Message } from '../delivery/kind.ts';
import {
  CLOUD_EVENT_TYPE,
  eventId,
  isEmitted,
  toCloudEvents,
  type CloudEvent,
} from '../events/cloud-event.ts';
import { matchesType } from '../events/type-filter.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { signedHeaders } from './signature.ts';

export const WEBHOOK_KIND = 'webhook';

/** `baseUrl` has no trailing slash. */
export function webhookKind(deps: { orm: Orm; encryption: Encryption; baseUrl: string }): DeliveryKind {
  return {
    build: (_em, event, { types }) =>
      toCloudEvents(event, deps.baseUrl)
        .filter(({ type }) => matchesType(types, type))
        .map((cloudEvent) => webhookMessage(cloudEvent, isEmitted(event) ? eventId(event) : cloudEvent.id)),
    async headers({ message_id: id, body, at }, target) {
      const [row] = await deps.orm.em.fork().execute<{ secret: string; former: string | null }[]>(
        `select secret_encrypted as secret,
                  case when former_secret_until > clock_timestamp() then former_secret_encrypted end as former
             from webhook where id = ?`,
        [target.id],
      );
      if (!row) return {};
      const secrets = [row.secret, row.former]
        .filter((sealed) => sealed !== null)
        .map((sealed) => deps.encryption.decrypt(sealed, secretContext(target.id)));
      return { ...signedHeaders(secrets, { id, body, at }), 'user-agent': 'Cadenza-Webhooks/1.0' };
    },
  };
}

/** `id` identifies the delivery. The ids of emitted events come from their authors, who may repeat one. */
export function webhookMessage(event: CloudEvent, id = event.id): Message {
  return {
    message_id: id,
    type: event.type,
    content_type: `${CLOUD_EVENT_TYPE}; charset=utf-8`,
    body: JSON.stringify(event),
  };
}

export function secretContext(webhookId: string): string {
  return `webhook:${webhookId}`;
}
