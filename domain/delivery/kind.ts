/** What one kind of target (webhook, A2A push) adds to the one mechanism: what is sent of an event, and what goes with it. */
import type { EntityManager } from '../../db/orm.ts';
import type { LogEvent } from '../events/log-reader.ts';
import type { DeliveryTarget } from './target.ts';

/** A message as it is stored: it is sent byte for byte, also again. */
export interface Message {
  /** The same in every attempt and redelivery: receivers drop what they have seen. No dots. */
  message_id: string;
  /** For the log of deliveries. */
  type: string;
  content_type: string;
  body: string;
}

/** A message that is about to be sent; `attempt` counts from 1. */
export interface Attempt extends Message {
  delivery_id: string;
  attempt: number;
  at: Date;
}

export interface DeliveryKind {
  /**
   * The messages for one event, in order; none to pass it over. Events that the target's owner may not see, or whose type it
   * does not want, never come here. Reads only: it runs in the transaction that fills the outbox.
   */
  build(em: EntityManager, event: LogEvent, target: DeliveryTarget): Message[] | Promise<Message[]>;
  /** Headers of one attempt beside `content-type`, made anew for each: signatures carry the time. Names in lower case. */
  headers(attempt: Attempt, target: DeliveryTarget): Promise<Record<string, string>>;
}

export type DeliveryKinds = Readonly<Record<string, DeliveryKind>>;
