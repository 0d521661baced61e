/** Every kind of delivery target that there is. Another kind adds its line here. */
import type { Orm } from '../../db/orm.ts';
import { PUSH_KIND } from '../a2a/push-configs.ts';
import { pushKind } from '../a2a/push-kind.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { webhookKind, webhookKindName } from '../webhooks/kind.ts';
import type { DeliveryKinds } from './kind.ts';

export interface KindDeps {
  orm: Orm;
  encryption: Encryption;
  /** For messages that carry a token. */
  keys: SigningKeys;
  /** Without a slash at the end. */
  baseUrl: string;
}

export function createDeliveryKinds(deps: KindDeps): DeliveryKinds {
  return { [webhookKindName]: webhookKind(deps), [PUSH_KIND]: pushKind(deps) };
}
