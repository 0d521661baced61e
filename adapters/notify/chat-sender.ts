import type { DeliverySender } from '../../domain/ports.ts';
import { createDeliverySender } from '../egress/delivery-sender.ts';
import { createEgressPolicy } from '../egress/create-egress-policy.ts';

/** Posts to the webhooks of chats under the egress policy. */
export function createChatSender(options: Parameters<typeof createEgressPolicy>[0]): DeliverySender {
  return createDeliverySender(createEgressPolicy(options));
}
