/**
 * What each kind of target (webhook, A2A push) adds to the shared delivery mechanism: the messages for an
 * event, and their headers.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import type { LogEvent } from '../events/log-reader.ts';
import type { DeliveryTarget } from './target.ts';

/** A message as stored; every attempt and redelivery sends the same bytes. */
export interface Message {
  /** The same in every attempt and redelivery, so receivers can drop duplicates. No dots. */
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
   * The messages for one event, in order; none to skip it. It is called only for events that the target's
   * owner may see and whose type the target wants. It runs in the transaction that fills the outbox, so it
   * only reads.
   * @param owner the target's owner with their present rights, or the team that holds it
   */
  build(
    em: EntityManager,
    event: LogEvent,
    target: DeliveryTarget,
    owner: Actor,
  ): Message[] | Promise<Message[]>;
  /**
   * The headers of one attempt besides `content-type`, with names in lower case. Built for each attempt,
   * because signatures contain the time.
   */
  headers(attempt: Attempt, target: DeliveryTarget): Promise<Record<string, string>>;
}

export type DeliveryKinds = Readonly<Record<string, DeliveryKind>>;
