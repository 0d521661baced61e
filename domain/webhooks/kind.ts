/** Webhooks as a kind of delivery target: a CloudEvent for each event, signed as Standard Webhooks. */
import type { Orm } from '../../db/orm.ts';
import type { DeliveryKind, Message } from '../delivery/kind.ts';
import { cloudEventType, eventId, toCloudEvent, type CloudEvent } from '../events/cloud-event.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { signedHeaders } from './signature.ts';

export const webhookKindName = 'webhook';

/** `baseUrl` without a slash at the end. */
export function webhookKind(deps: { orm: Orm; encryption: Encryption; baseUrl: string }): DeliveryKind {
  return {
    build: (_em, event) => [webhookMessage(toCloudEvent(event, deps.baseUrl), eventId(event))],
    async headers({ message_id: id, body, at }, target) {
      const [row] = await deps.orm.em.fork().execute<{ secret_encrypted: string }[]>('select secret_encrypted from webhook where id = ?', [target.id]);
      if (!row) return {};
      const secret = deps.encryption.decrypt(row.secret_encrypted, secretContext(target.id));
      return { ...signedHeaders(secret, { id, body, at }), 'user-agent': 'Cadenza-Webhooks/1.0' };
    },
  };
}

/** `id` is the delivery's: the ids of emitted events are their authors', who may use one twice. */
export function webhookMessage(event: CloudEvent, id = event.id): Message {
  return { message_id: id, type: event.type, content_type: `${cloudEventType}; charset=utf-8`, body: JSON.stringify(event) };
}

export function secretContext(webhookId: string): string {
  return `webhook:${webhookId}`;
}
