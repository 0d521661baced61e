import type { EgressPolicy } from '../egress/egress.ts';
import type { CallGuard } from '../guarded-call.ts';
import type { MessageQueue } from './message-queue.ts';

/** Where a message goes, or comes from. */
export interface Target {
  protocol: string;
  secure: boolean;
  /** `host` or `host:port`. */
  host: string;
  /** The path of the server, without a slash at its end. */
  path: string;
  /** The address of the channel: a path, a topic, a subject. */
  address: string;
  /** Of the operation, and of the channel, for this protocol. */
  bindings: Record<string, unknown>;
}

export interface OutboundMessage {
  /** JSON. */
  payload: string;
  headers: Record<string, string>;
}

/** What a protocol needs for one call. */
export interface Connecting {
  egress: EgressPolicy;
  guard: CallGuard;
  target: Target;
  /** Headers of HTTP: `authorization`. */
  credentials: Record<string, string>;
  /** Of the scheme `basic`; null for other schemes. */
  account: { username: string; password: string } | null;
  /** The same for a repetition of the call. */
  id: string;
}

export interface Protocol {
  /** @returns the output of the call */
  send(connecting: Connecting, message: OutboundMessage): Promise<unknown>;
  /** Fills the queue until it is left. Resolves, once the subscription is there, with what ends it. */
  subscribe(connecting: Connecting, queue: MessageQueue): Promise<() => Promise<void>>;
}
