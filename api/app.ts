/** Composition root of the HTTP API. All dependencies come in as arguments. */
import Koa, { type Middleware } from 'koa';

import { lateFork } from '../db/late-fork.ts';
import { KnownCallers } from '../domain/auth/known-callers.ts';
import type { SessionPolicy } from '../domain/auth/sessions.ts';
import { createSigningKeys } from '../domain/auth/signing-keys.ts';
import { VerifiedTokens } from '../domain/auth/verified-tokens.ts';
import { createWritePauseWatch } from '../domain/operations/write-pause.ts';
import { createEncryption } from '../domain/secrets/encryption.ts';
import { a2aMiddleware } from './a2a/mount.ts';
import { KnownNames } from './known-names.ts';
import { JobPolls } from './jobs/job-polls.ts';
import { KnownWorkers } from './jobs/known-workers.ts';
import { createCalledAddresses } from './called-addresses.ts';
import type { AppDeps, AppResources } from './deps.ts';
import type { Endpoint } from './endpoint.ts';
import { consoleMiddleware } from './console/static.ts';
import { parseQueriesInLinearTime } from './linear-query.ts';
import { referenceMiddleware } from './reference/static.ts';
import { authDeps } from './middleware/auth-deps.ts';
import { codecCorsMiddleware } from './middleware/codec-cors.ts';
import { compressionMiddleware } from './middleware/compression.ts';
import { corsMiddleware } from './middleware/cors.ts';
import { errorsMiddleware } from './middleware/errors.ts';
import { forgetCallersMiddleware } from './middleware/forget-callers.ts';
import { inOrder } from './middleware/in-order.ts';
import { negotiationMiddleware } from './middleware/negotiation.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createLoadGuard, NO_GUARD, type LoadGuard } from './load-guard.ts';
import { createAddressLimit } from './middleware/rate-limit.ts';
import { RequestsAtOnce } from './middleware/requests-at-once.ts';
import { mcpMiddleware } from './mcp/mount.ts';
import { scimMiddleware } from './scim/mount.ts';
import { writePauseMiddleware } from './middleware/write-pause.ts';
import { requestIdMiddleware } from './middleware/request-id.ts';
import { tracingMiddleware } from './middleware/tracing.ts';
import { isTracing } from '../tracing/context.ts';
import { openAiMiddleware } from './openai/mount.ts';
import { createLiveSessions } from './streams/live-sessions.ts';
import { createNotificationFeeds } from './streams/notification-feeds.ts';
import { createPartialFeeds } from './streams/partial-feeds.ts';
import { SharedReaders } from './streams/shared-reader.ts';
import { createRouter } from './router.ts';
import { scoped } from './scopes.ts';
import { UnreadAnswers, unreadMiddleware } from './unread-answers.ts';
import { allEndpoints } from './routes/index.ts';
import { referenceEndpoints } from './routes/reference/routes.ts';

export interface CreateAppOptions extends AppResources {
  /** Default: metrics without those of the process. */
  metrics?: Metrics;
  /**
   * In development and tests, a response that violates its schema becomes a 500. Otherwise none is checked.
   */
  strictResponses?: boolean;
  /** Refuse work before memory or time run out. Default: not, for processes that share them. */
  guardsLoad?: boolean;
  /** Additional endpoints, for tests of this layer. */
  endpoints?: (deps: AppDeps) => Endpoint[];
}

export interface App {
  koa: Koa;
  deps: AppDeps;
  endpoints: Endpoint[];
  /** Makes `/readyz` answer 503, ends open streams, and resolves when nobody listens to the database. */
  stop(): Promise<void>;
}

export function createApp(options: CreateAppOptions): App {
  let stopping = false;
  const deps = createDeps(options, () => stopping);
  const endpoints: Endpoint[] = [
    ...allEndpoints(deps),
    ...scoped(
      'none',
      referenceEndpoints(deps, () => endpoints),
    ),
    ...(options.endpoints?.(deps) ?? []),
  ];
  const stop = async (): Promise<void> => {
    stopping = true;
    const sources = [deps.runEvents, deps.accountChanges, deps.newJobs, deps.newNotifications];
    const ended = sources.map(async (source) => source?.stop());
    deps.jobPolls.stop();
    deps.knownWorkers.stop();
    deps.eventReaders.stop();
    deps.runReaders.stop();
    deps.partialFeeds.stop();
    deps.load.stop();
    deps.unread.stop();
    await Promise.allSettled([...ended, deps.sessions.stop()]);
  };
  const strictResponses = options.strictResponses ?? false;
  return { koa: createKoa(deps, endpoints, strictResponses), deps, endpoints, stop };
}

function createDeps(options: CreateAppOptions, isStopping: () => boolean): AppDeps {
  const { orm, env, logger } = options;
  const fork = () => lateFork(orm.em);
  const encryption = createEncryption(env.ENCRYPTION_KEYS);
  const { accountChanges } = options;
  const isNotified = (): boolean => accountChanges?.isConnected ?? false;
  const knownCallers = new KnownCallers(isNotified);
  const knownNames = new KnownNames(isNotified);
  const knownWorkers = new KnownWorkers({ fork, logger, isNotified });
  const load = loadGuardOf(options, (part) => sessions.endStreams(part));
  const sessions = createLiveSessions({
    fork,
    logger,
    streamsPerUser: env.STREAMS_PER_USER,
    streamsPerAddress: env.STREAMS_PER_ADDRESS,
    load: () => load.load,
  });
  accountChanges?.subscribe(() => {
    knownCallers.clear();
    knownNames.clear();
    knownWorkers.clear();
    sessions.recheckSoon();
  });
  return {
    ...options,
    knownCallers,
    knownNames,
    verifiedTokens: new VerifiedTokens(),
    knownWorkers,
    jobPolls: new JobPolls({
      fork,
      logger,
      newJobs: options.newJobs,
      pollsPerHolder: env.WORKER_POLLS_PER_TOKEN,
    }),
    notificationFeeds: createNotificationFeeds(options.newNotifications),
    metrics: options.metrics ?? createMetrics({ orm, logger, labels: env.METRICS_LABELS }),
    encryption,
    keys: createSigningKeys(fork, encryption),
    addressLimit: createAddressLimit({ fork, perMinute: env.RATE_LIMIT_ADDRESS_PER_MINUTE, logger }),
    requestsAtOnce: new RequestsAtOnce(env.REQUESTS_PER_USER),
    unread: new UnreadAnswers(logger),
    load,
    sessions,
    calledAddresses: createCalledAddresses(env),
    eventReaders: new SharedReaders(),
    runReaders: new SharedReaders(),
    partialFeeds: createPartialFeeds({ fork, logger, runEvents: options.runEvents }),
    writePause: createWritePauseWatch(fork),
    grpc: { url: null },
    isStopping,
  };
}

function loadGuardOf(options: CreateAppOptions, endStreams: (part: number) => void): LoadGuard {
  if (options.guardsLoad !== true) return NO_GUARD;
  const { logger, env } = options;
  return createLoadGuard({
    logger,
    memoryMib: env.API_MEMORY_MIB,
    maxLateMs: env.API_MAX_DELAY_MS,
    endStreams,
  });
}

/** The order matters: each middleware sees the requests that those before it let through. */
function createKoa(deps: AppDeps, endpoints: readonly Endpoint[], strictResponses: boolean): Koa {
  const { env, logger, encryption } = deps;
  const koa = new Koa({ proxy: env.TRUST_PROXY > 0, maxIpsCount: env.TRUST_PROXY });
  parseQueriesInLinearTime(koa);
  // Koa reports closed sockets here. All other errors were answered and logged by errorsMiddleware.
  koa.on('error', (error: unknown) => logger.debug({ err: error }, 'connection error'));
  if (isTracing()) koa.use(tracingMiddleware);
  const sessionPolicy: SessionPolicy = {
    idleSeconds: env.SESSION_IDLE_HOURS * 3_600,
    maxSeconds: env.SESSION_MAX_HOURS * 3_600,
    secondFactorRoles: env.SECOND_FACTOR_ROLES,
  };
  const router = createRouter(endpoints, {
    ...authDeps(deps),
    logger,
    baseUrl: env.BASE_URL,
    fingerprint: (text) => encryption.fingerprint(text),
    strictResponses,
    knownNames: deps.knownNames,
    requestsPerMinute: env.RATE_LIMIT_PER_MINUTE,
    requestsAtOnce: deps.requestsAtOnce,
  });
  const steps: Middleware[] = [
    deps.metrics.middleware,
    requestIdMiddleware(logger),
    (ctx, next) => {
      ctx.state['sessionPolicy'] = sessionPolicy;
      return next();
    },
    ...(env.CORS_ORIGINS.length > 0 ? [corsMiddleware(env.CORS_ORIGINS)] : []),
    ...(env.TEMPORAL_UI_URL ? [codecCorsMiddleware(env.TEMPORAL_UI_URL)] : []),
    negotiationMiddleware,
    unreadMiddleware(deps.unread),
    compressionMiddleware,
    errorsMiddleware(logger),
    deps.load.middleware,
    writePauseMiddleware(deps.writePause),
    ...(deps.consoleFolder === undefined ? [] : [consoleMiddleware(deps.consoleFolder)]),
    referenceMiddleware(),
    forgetCallersMiddleware(deps),
    a2aMiddleware(deps),
    openAiMiddleware(deps),
    mcpMiddleware(deps),
    scimMiddleware(deps),
    router,
  ];
  koa.use(inOrder(steps));
  return koa;
}
