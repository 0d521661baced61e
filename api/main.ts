/** Entry point of the API process: `npm run start:api`. Any number of processes may run side by side. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { loadServerEnv, type ServerEnv } from '../config/env.ts';
import { createLogger, type Logger } from '../config/logger.ts';
import { failuresAreLogged, within } from '../config/orderly-stop.ts';
import { createOrm, type Orm, type PoolState } from '../db/orm.ts';
import { pruneInBatches } from '../domain/audit/prune.ts';
import { sealAudit } from '../domain/audit/seal.ts';
import { removeExpired } from '../domain/auth/cleanup.ts';
import { listenForAccountChanges, listenForJobs, listenForNotifications } from '../db/notifications.ts';
import { createRunEventWatcher } from '../db/run-event-watcher.ts';
import { AppError } from '../domain/errors.ts';
import { hasUsers, seedAdmin } from '../domain/auth/seed.ts';
import { createAgentSources } from '../adapters/resources/create-agent-sources.ts';
import { createResourceFetcher } from '../adapters/resources/create-resource-fetcher.ts';
import { createIdentityProviders } from '../adapters/identity/create-identity-providers.ts';
import { applySettingsClient } from '../domain/oauth/settings-client.ts';
import { applySettingsIssuer } from '../domain/identity/settings-issuer.ts';
import { createEncryption } from '../domain/secrets/encryption.ts';
import { ownServers } from '../config/own-servers.ts';
import { guardSecrets } from '../adapters/secrets/guard-secrets.ts';
import { createChatSender } from '../adapters/notify/chat-sender.ts';
import { loadTemplates } from '../domain/notifications/load-templates.ts';
import { createMailer } from '../adapters/notify/smtp.ts';
import { createFileStore } from '../adapters/file-stores/create-file-store.ts';
import { settleProcess } from '../domain/operations/settle-start.ts';
import { createVerifiedTemporal } from '../domain/operations/verified-temporal.ts';
import { createPayloadStore } from '../domain/files/payload-store.ts';
import { gatewayOf } from '../temporal/gateway.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { createPayloadCodec } from '../temporal/payload-codec.ts';
import { traceFields } from '../tracing/context.ts';
import { startTracing } from '../tracing/start.ts';
import { createApp } from './app.ts';
import { drain } from './drain.ts';
import { continueWork } from './continue-work.ts';
import { FactorLimits } from './factor-limits.ts';
import { createHttpServer } from './http-server.ts';
import { listenGrpc } from './a2a/grpc-server.ts';
import { createMetrics } from './metrics.ts';

/** After `/readyz` turns 503, the server still answers for this long, so that load balancers notice. */
const UNREADY_MS = 1_000;
const CLOSE_MS = 2_000;
/** Short enough that clients get a 503 in time to retry. */
const STATEMENT_TIMEOUT_MS = 15_000;
const CLEANUP_MS = 10 * 60_000;
/** How long each cleanup removes old entries of the audit log. */
const PRUNE_MS = 60_000;
/** How long entries of the audit log wait for their seal. */
const SEAL_MS = 10_000;
/** How long startup waits for the database to confirm that the file store belongs to it. */
const SETTLE_MS = 3_000;

const env = loadServerEnv();
const logger = createLogger({ name: 'api', level: env.LOG_LEVEL, fields: traceFields });
const tracing = await startTracing(env, 'api', logger);
let pool: PoolState | null = null;
const orm = createOrm({
  url: env.DATABASE_URL,
  logger,
  poolSize: env.DATABASE_POOL_SIZE,
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  watchesAnswers: true,
  onPool: (created) => (pool = created),
});
const files = await createFileStore(env);
const egress = { allow: env.EGRESS_ALLOW, hostMap: env.EGRESS_HOST_MAP, own: ownServers(env) };
const resources = createResourceFetcher(egress);
const sources = createAgentSources(egress);
const identities = createIdentityProviders(egress);
const payloads = {
  keys: env.ENCRYPTION_KEYS,
  store: createPayloadStore({ fork: () => orm.em.fork(), files, inFiles: env.FILES_LARGE_VALUES }),
  acceptUnencrypted: env.ACCEPT_UNENCRYPTED_PAYLOADS,
  unreadable: (error: Error) => logger.error({ err: error }, 'cannot read a Temporal payload'),
};
const temporal = temporalSettings(env);
const client = createTemporalClient(temporal, createDataConverter(payloads));
const mailer = createMailer(env);
const { temporal: gateway, verify: verifyTemporal } = createVerifiedTemporal(gatewayOf(client, env), {
  fork: () => orm.em.fork(),
  acceptNew: env.ACCEPT_NEW_TEMPORAL,
});
const app = createApp({
  orm,
  env,
  logger,
  temporal: gateway,
  runEvents: createRunEventWatcher(env.DATABASE_URL, logger),
  accountChanges: listenForAccountChanges(env.DATABASE_URL, logger),
  newJobs: listenForJobs(env.DATABASE_URL, logger),
  newNotifications: listenForNotifications(env.DATABASE_URL, logger),
  mailer: { mailer, templates: loadTemplates(env.NOTIFY_TEMPLATES) },
  sender: createChatSender(egress),
  guardSecrets,
  files,
  resources,
  sources,
  identities,
  certificates: temporal.certificates ?? [],
  // Only people look at these payloads and no code trusts them, so unencrypted ones are shown too.
  payloadCodec: createPayloadCodec({ ...payloads, acceptUnencrypted: true }),
  metrics: createMetrics({
    orm,
    logger,
    pool: () => pool,
    labels: env.METRICS_LABELS,
    ofProcess: true,
    certificates: temporal.certificates ?? [],
  }),
  strictResponses: env.NODE_ENV === 'development',
  guardsLoad: true,
  consoleFolder: fileURLToPath(new URL('../web/dist', import.meta.url)),
});

const factorLimits = new FactorLimits({
  fork: () => orm.em.fork(),
  logger,
  roles: env.SECOND_FACTOR_ROLES,
});
const settled = settleProcess({ fork: () => orm.em.fork(), files, verifyTemporal, logger }, env).then(() =>
  factorLimits.begin(),
);
// If the database is unavailable, the check completes later; until then `/readyz` reports it.
await Promise.race([settled, sleep(SETTLE_MS)]);
const server = createHttpServer(app.koa);
const { A2A_GRPC_PORT: grpcPort = 'off' } = env;
const grpc =
  grpcPort === 'off'
    ? null
    : await listenGrpc(app.deps, { host: env.HOST, port: grpcPort }).catch(cannotListen);
if (grpc) logger.info({ host: env.HOST, port: grpc.port }, 'listening for gRPC');
server.listen(env.PORT, env.HOST, () => logger.info({ address: server.address() }, 'listening'));
server.on('error', (error) => {
  if (!server.listening) cannotListen(error);
  // Such as one connection for which no descriptor was left.
  logger.error({ err: error }, 'cannot accept a connection');
});
const pruning = new AbortController();
const cleanup = setInterval(() => {
  removeExpired(orm.em.fork()).catch((error: unknown) => logger.warn({ err: error }, 'cleanup failed'));
  pruneInBatches(() => orm.em.fork(), {
    days: env.AUDIT_RETENTION_DAYS,
    budgetMs: PRUNE_MS,
    signal: pruning.signal,
    onBatch: (pruned) => logger.info({ audit_removal: pruned }, 'removed old entries of the audit log'),
  }).catch((error: unknown) => logger.warn({ err: error }, 'cannot remove old entries of the audit log'));
}, CLEANUP_MS);
const sealing = setInterval(() => {
  sealAudit(() => orm.em.fork())
    .then((head) => {
      // Kept elsewhere than the database, it shows whether the chain was replaced.
      if (head !== null) logger.info({ audit_seal: head.no, audit_hash: head.hash }, 'sealed the audit log');
    })
    .catch((error: unknown) => logger.warn({ err: error }, 'cannot seal the audit log'));
}, SEAL_MS);
const endWork = continueWork({ fork: () => orm.em.fork(), files, temporal: app.deps.temporal, logger });
let stopping = false;
// Each would fail without the schema, and log it, time and again.
void settled.then(async () => {
  await Promise.all([
    seedWhenPossible(orm, env, logger),
    storeIssuerWhenPossible(orm, env, logger),
    storeClientWhenPossible(orm, env, logger),
  ]);
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (!stopping) {
      stopping = true;
      void stop(signal);
    }
  });
}

/** Shuts down: readiness ends first, then the server drains, then connections close. */
async function stop(signal: string): Promise<void> {
  logger.info({ signal }, 'stopping');
  failuresAreLogged(logger);
  const unheard = app.stop();
  clearInterval(cleanup);
  pruning.abort();
  clearInterval(sealing);
  endWork();
  await sleep(UNREADY_MS);
  await drain({ server, grpc, logger });
  const connections = [client.connection, resources, sources, identities].map(async (one) => one.close());
  const database = factorLimits.stop().then(() => orm.close(true));
  const closed = await within(CLOSE_MS, Promise.allSettled([unheard, database, ...connections]));
  if (!closed) logger.warn({ seconds: CLOSE_MS / 1_000 }, 'connections did not close in time');
  await tracing?.stop();
  logger.info('stopped');
  process.exit(0);
}

function cannotListen(error: Error): never {
  logger.fatal({ err: error }, 'cannot listen');
  process.exit(1);
}

/** Stores the issuer that the settings name. Retries until the database is available. */
async function storeIssuerWhenPossible(database: Orm, settings: ServerEnv, log: Logger): Promise<void> {
  const encryption = createEncryption(settings.ENCRYPTION_KEYS);
  for (let waitMs = 500; !stopping; waitMs = Math.min(waitMs * 2, 15_000)) {
    try {
      await database.em.fork().transactional((em) => applySettingsIssuer(em, encryption, settings));
      return;
    } catch (error) {
      const isFinal = error instanceof AppError;
      log[isFinal ? 'error' : 'warn']({ err: error }, 'cannot store the issuer of OIDC_ISSUER');
      if (isFinal) return;
      await sleep(waitMs);
    }
  }
}

/** Stores the OAuth client that the settings describe. Retries until the database is available. */
async function storeClientWhenPossible(database: Orm, settings: ServerEnv, log: Logger): Promise<void> {
  for (let waitMs = 500; !stopping; waitMs = Math.min(waitMs * 2, 15_000)) {
    try {
      await database.em.fork().transactional((em) => applySettingsClient(em, settings));
      return;
    } catch (error) {
      log.warn({ err: error }, 'cannot store the OAuth client of TEMPORAL_UI_CLIENT_SECRET');
      await sleep(waitMs);
    }
  }
}

/**
 * Creates the first administrator. Retries until the database is available. Without ADMIN_PASSWORD and
 * without users, it logs which variable to set.
 */
async function seedWhenPossible(database: Orm, settings: ServerEnv, log: Logger): Promise<void> {
  for (let waitMs = 500; !stopping; waitMs = Math.min(waitMs * 2, 15_000)) {
    try {
      if (settings.ADMIN_PASSWORD === undefined) {
        if (!(await hasUsers(database.em.fork())))
          log.error('there are no users, so nobody can log in: set ADMIN_PASSWORD and restart');
        return;
      }
      const admin = await seedAdmin(database, {
        username: settings.ADMIN_USERNAME,
        password: settings.ADMIN_PASSWORD,
      });
      if (admin) {
        log.info({ username: admin.username }, 'created the first administrator');
      }
      return;
    } catch (error) {
      log.warn({ err: error }, 'cannot check for the first administrator yet');
      await sleep(waitMs);
    }
  }
}
