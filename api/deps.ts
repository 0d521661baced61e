/** What routes and bindings work with: what the process brings, and what `createApp` makes of it. */
import type { PayloadCodec } from '@temporalio/common';

import type { Env } from '../config/env.ts';
import type { Logger } from '../config/logger.ts';
import type { WatchedCertificate } from '../config/temporal-connection.ts';
import type { Orm } from '../db/orm.ts';
import type { Notifications } from '../db/notifications.ts';
import type { RunEventWatcher } from '../db/run-event-watcher.ts';
import type { KnownCallers } from '../domain/auth/known-callers.ts';
import type { SigningKeys } from '../domain/auth/signing-keys.ts';
import type { VerifiedTokens } from '../domain/auth/verified-tokens.ts';
import type { Position } from '../domain/events/position.ts';
import type { FileStore } from '../domain/files/ports.ts';
import type {
  AgentSources,
  DeliverySender,
  GuardSecrets,
  IdentityProviders,
  Mailer,
  ResourceFetcher,
  TemporalGateway,
} from '../domain/ports.ts';
import type { Templates } from '../domain/notifications/templates.ts';
import type { WritePauseWatch } from '../domain/operations/write-pause.ts';
import type { Encryption } from '../domain/secrets/encryption.ts';
import type { JobPolls } from './jobs/job-polls.ts';
import type { KnownWorkers } from './jobs/known-workers.ts';
import type { KnownNames } from './known-names.ts';
import type { CalledAddresses } from './called-addresses.ts';
import type { LoadGuard } from './load-guard.ts';
import type { Metrics } from './metrics.ts';
import type { AddressLimit } from './middleware/rate-limit.ts';
import type { RequestsAtOnce } from './middleware/requests-at-once.ts';
import type { LogEntry, RunReader } from './streams/entries.ts';
import type { LiveSessions } from './streams/live-sessions.ts';
import type { NotificationFeeds } from './streams/notification-feeds.ts';
import type { PartialFeeds } from './streams/partial-feeds.ts';
import type { SharedReader, SharedReaders } from './streams/shared-reader.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/** What the process opens and closes. */
export interface AppResources {
  orm: Orm;
  env: Env;
  logger: Logger;
  temporal: TemporalGateway;
  /** Notifies waiting readers of a run's next event. */
  runEvents: RunEventWatcher;
  /** Of changes of users and sessions. Default: none, so every request reads its caller's row. */
  accountChanges?: Notifications;
  /** Of new jobs of external workers. Default: none, so waiting polls look for jobs every second. */
  newJobs?: Notifications;
  /** Of notifications of people. Default: none, so their streams look every few seconds. */
  newNotifications?: Notifications;
  /** Sends test mails; null if no mail server is set up. */
  mailer: { mailer: Mailer | null; templates: Templates };
  /** Sends test messages to chats. */
  sender: DeliverySender;
  /** Reads the secrets that agents' configurations name, for jobs of external workers. */
  guardSecrets: GuardSecrets;
  files: FileStore;
  /** Fetches what definitions take from elsewhere. */
  resources: ResourceFetcher;
  /** Reads what other platforms offer as agents, and tries counterparts. */
  sources: AgentSources;
  /** Talks to external issuers of identities. */
  identities: IdentityProviders;
  /** With which this process shows Temporal who it is, or knows Temporal. Default: none. */
  certificates?: readonly WatchedCertificate[];
  /** Decodes Temporal payloads for Temporal's UI. */
  payloadCodec?: Pick<PayloadCodec, 'decode'>;
  /** Folder of the built console, which need not exist yet. Default: the console is not served. */
  consoleFolder?: string;
}

export interface AppDeps extends AppResources {
  metrics: Metrics;
  encryption: Encryption;
  keys: SigningKeys;
  addressLimit: AddressLimit;
  requestsAtOnce: RequestsAtOnce;
  /** Bounds what answers hold that nobody reads. */
  unread: UnreadAnswers;
  /** Refuses work before this process runs out of memory. */
  load: LoadGuard;
  sessions: LiveSessions;
  knownCallers: KnownCallers;
  knownNames: KnownNames;
  verifiedTokens: VerifiedTokens;
  knownWorkers: KnownWorkers;
  /** Streams of people's notifications. */
  notificationFeeds: NotificationFeeds;
  /** Waiting polls of external workers. */
  jobPolls: JobPolls;
  /** Checks addresses of webhooks, push notification configs and agents. */
  calledAddresses: CalledAddresses;
  /** Shared readers of all runs' log: one read serves all streams of this process. */
  eventReaders: SharedReaders<SharedReader<LogEntry, Position>>;
  /** Shared readers of single runs' logs, by run. */
  runReaders: SharedReaders<RunReader>;
  /** What calls produce while they run, for the streams of their runs. */
  partialFeeds: PartialFeeds;
  /** Whether a backup pauses writes. */
  writePause: WritePauseWatch;
  /** Address of the gRPC binding for agent cards; null while this process does not serve it. */
  grpc: { url: string | null };
  /** True from the first stop signal on. Readiness ends before the server closes. */
  isStopping: () => boolean;
}
