import type { MikroORM } from '@mikro-orm/postgresql';
import type { AnswerMemory } from '../adapters/egress/answer-memory.ts';
import type { Logger } from '../config/logger.ts';
import type { DeliveryKinds } from '../domain/delivery/kind.ts';
import type { RetryPolicy } from '../domain/delivery/retry.ts';
import type { NotifyDeps } from '../domain/notifications/deliver.ts';
import type { PrepareDeps } from '../domain/notifications/prepare.ts';
import type { FileStore } from '../domain/files/ports.ts';
import type { ActiveCalls } from './active-calls.ts';
import type { AgentCalls } from './agent-calls.ts';
import type { Prices } from '../domain/spending/prices.ts';
import type { RunLimits } from '../domain/runs/limits.ts';
import type { Announce } from './announce.ts';
import type { Outcomes } from './outcomes.ts';
import type { PartialOutputs } from './partial-outputs.ts';
import type { ShortCalls } from './short-calls.ts';
import type { Adapters, DeliverySender, ProcessRunner, TemporalGateway } from '../domain/ports.ts';

/** All dependencies of the activities, built by the composition root. */
export interface ActivityDeps {
  orm: MikroORM;
  adapters: Adapters;
  /** Runs what definitions bring along. */
  processes: ProcessRunner;
  calls: ActiveCalls;
  shortCalls: ShortCalls;
  partials: PartialOutputs;
  temporal: TemporalGateway;
  logger: Logger;
  files: FileStore;
  /** A URL that gives a file without a login, valid for at most `seconds`. */
  fileLink(fileId: string, seconds: number): Promise<string>;
  /** An address at which somebody outside completes the call of this job, until then. */
  callbackAddress(jobId: string, until: Date): Promise<{ url: string; token: string }>;
  limits: RunLimits;
  /** Bounds the memory for the responses of calls. */
  answers: AnswerMemory;
  /** Default: calls are not measured. */
  agentCalls?: AgentCalls;
  /** How many days runs are kept after their end. */
  retentionDays: number;
  /** How many days events from outside, and the log of deliveries, are kept. */
  eventDays: number;
  deliveries: {
    kinds: DeliveryKinds;
    sender: DeliverySender;
    /** Default: `STANDARD_RETRY`. */
    retry?: RetryPolicy;
    /** Whether the worker grants only a few slots now. Default: never. */
    isShortOfMemory?: () => boolean;
  };
  /** How people are told of human tasks. */
  notifications: { expand: PrepareDeps; deliver: NotifyDeps };
  /** A user's secret, decrypted; null if there is none of that name. */
  secret(ownerId: string, name: string): Promise<string | null>;
}

/** What a call of a counterpart needs besides the counterpart. */
export type InvocationDeps = Pick<
  CallDeps,
  | 'orm'
  | 'calls'
  | 'shortCalls'
  | 'temporal'
  | 'logger'
  | 'limits'
  | 'announce'
  | 'outcomes'
  | 'prices'
  | 'agentCalls'
>;

/** What processes need. */
export type ProcessDeps = InvocationDeps & Pick<CallDeps, 'processes' | 'files' | 'secret'>;

/** What the activities share that call counterparts and end runs. */
export interface CallDeps extends ActivityDeps {
  announce: Announce;
  outcomes: Outcomes;
  prices: Prices;
}
