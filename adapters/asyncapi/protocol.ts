import type { EgressPolicy } from '../egress/egress.ts';
import type { CallGuard } from '../guarded-call.ts';
import type { MessageQueue } from './message-queue.ts';

/** Where a message goes, or comes from. */
export interface Target {
  protocol: string;
  secure: boolean;
  /** `host` or `host:port`. Of Kafka, there may be several with commas between them. */
  host: string;
  /** The path of the server, without a slash at its end. */
  path: string;
  /** The address of the channel: a path, a topic, a subject. */
  address: string;
  /** Of the channel and, over it, of the operation, for this protocol. */
  bindings: Record<string, unknown>;
  /** Of the operation's first message that has some. */
  messageBindings: Record<string, unknown>;
  /** Types of the server's security schemes: `scramSha256`, `plain`, `userPassword`, … */
  security: readonly string[];
}

export interface OutboundMessage {
  /** JSON. */
  payload: string;
  headers: Record<string, string>;
  /** From where the document says; null if it does not, or there is none. */
  correlationId: string | null;
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
  /** How many messages a subscription takes at most, if it says so. */
  amount: number | null;
}

export interface Protocol {
  /** Of all messages of a subscription; unlimited by default. */
  maxReceivedBytes?: number;
  /** @returns the output of the call */
  send(connecting: Connecting, message: OutboundMessage): Promise<unknown>;
  /**
   * Fills the queue until it is left. Resolves, once the subscription is there, with what ends it: `complete`
   * says whether the call has its messages, so that a broker may forget them.
   */
  subscribe(connecting: Connecting, queue: MessageQueue): Promise<(complete: boolean) => Promise<void>>;
}
