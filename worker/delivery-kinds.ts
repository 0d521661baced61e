/** Registers every kind of delivery target. Add a new kind here. */
import { pushNotificationFormat } from '../adapters/a2a/push-notification.ts';
import type { Orm } from '../db/orm.ts';
import { PUSH_KIND } from '../domain/a2a/push-configs.ts';
import { pushKind } from '../domain/a2a/push-kind.ts';
import type { SigningKeys } from '../domain/auth/signing-keys.ts';
import type { Encryption } from '../domain/secrets/encryption.ts';
import { webhookKind, WEBHOOK_KIND } from '../domain/webhooks/kind.ts';
import type { DeliveryKinds } from '../domain/delivery/kind.ts';

export interface KindDeps {
  orm: Orm;
  encryption: Encryption;
  /** For messages that carry a token. */
  keys: SigningKeys;
  /** Without a trailing slash. */
  baseUrl: string;
}

export function createDeliveryKinds(deps: KindDeps): DeliveryKinds {
  return {
    [WEBHOOK_KIND]: webhookKind(deps),
    [PUSH_KIND]: pushKind({ ...deps, format: pushNotificationFormat }),
  };
}
