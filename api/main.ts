/** The API as a process: `npm run start:api`. Any number of copies may run beside each other. */
import { setTimeout as sleep } from 'node:timers/promises';

import { loadServerEnv, type ServerEnv } from '../config/env.ts';
import { createLogger, type Logger } from '../config/logger.ts';
import { createOrm, type Orm, type PoolState } from '../db/orm.ts';
import { removeExpired } from '../domain/auth/cleanup.ts';
import { createRunEventWatcher } from '../db/run-event-watcher.ts';
import { seedAdmin } from '../domain/auth/seed.ts';
import { createFileStore } from '../domain/files/create-file-store.ts';
import { createPayloadStore } from '../domain/files/payload-store.ts';
import { createGateway } from '../temporal/gateway.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { createApp } from './app.ts';
import { createHttpServer } from './http-server.ts';
import { listenGrpc } from './a2a/grpc-server.ts';
import { createMetrics } from './metrics.ts';

/** Load balancers stop sending when `/readyz` says so; until then the server goes on answering. */
const unreadyMs = 1_000;
/** Requests that take longer are cut off. */
const drainMs = 10_000;
const closeMs = 2_000;
/** Clients wait for the answer: 503 comes in time for them to try again. */
const statementTimeoutMs = 15_000;
const cleanupMs = 10 * 60_000;

const env = loadServerEnv();
const logger = createLogger({ name: 'api', level: env.LOG_LEVEL });
let pool: PoolState | null = null;
const orm = createOrm({ url: env.DATABASE_URL, logger, statementTimeoutMs, onPool: (made) => (pool = made) });
const files = await createFileStore(env);
const dataConverter = createDataConverter({
  keys: env.ENCRYPTION_KEYS,
  store: createPayloadStore({ fork: () => orm.em.fork(), files, inFiles: env.FILES_LARGE_VALUES }),
  unreadable: (error) => logger.error({ err: error }, 'cannot decrypt a payload of Temporal'),
});
const [payloadCodec] = dataConverter.payloadCodecs ?? [];
const client = createTemporalClient(temporalSettings(env), dataConverter);
const app = createApp({
  orm,
  env,
  logger,
  temporal: createGateway({ client, taskQueue: env.TEMPORAL_TASK_QUEUE, baseUrl: env.BASE_URL }),
  runEvents: createRunEventWatcher(env.DATABASE_URL, logger),
  files,
  ...(payloadCodec ? { payloadCodec } : {}),
  metrics: createMetrics({ orm, logger, pool: () => pool, ofProcess: true }),
  strictResponses: env.NODE_ENV === 'development',
});

const server = createHttpServer(app.koa);
const { A2A_GRPC_PORT: grpcPort = 'off' } = env;
const grpc = grpcPort === 'off' ? null : await listenGrpc(app.deps, { host: env.HOST, port: grpcPort }).catch(cannotListen);
if (grpc) logger.info({ host: env.HOST, port: grpc.port }, 'listening for gRPC');
server.listen(env.PORT, env.HOST, () => logger.info({ address: server.address() }, 'listening'));
server.on('error', cannotListen);
const cleanup = setInterval(() => {
  removeExpired(orm.em.fork()).catch((error: unknown) => logger.warn({ err: error }, 'cleanup failed'));
}, cleanupMs);
let stopping = false;
void seedWhenPossible(orm, env, logger);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (!stopping) {
      stopping = true;
      void stop(signal);
    }
  });
}

/** Readiness goes first, then the server drains, then the connections close. */
async function stop(signal: string): Promise<void> {
  logger.info({ signal }, 'stopping');
  app.stop();
  clearInterval(cleanup);
  await sleep(unreadyMs);
  const closed = Promise.all([new Promise((resolve) => server.close(resolve)), grpc?.stop(drainMs)]);
  // Connections that clients keep alive are closed as soon as their last answer is out.
  const sweep = setInterval(() => server.closeIdleConnections(), 100);
  await Promise.race([closed, sleep(drainMs)]);
  clearInterval(sweep);
  server.closeAllConnections();
  await Promise.race([Promise.allSettled([orm.close(true), client.connection.close()]), sleep(closeMs)]);
  logger.info('stopped');
  process.exit(0);
}

function cannotListen(error: Error): never {
  logger.fatal({ err: error }, 'cannot listen');
  process.exit(1);
}

/** The first administrator, if a password is given; the database may come later than this process. */
async function seedWhenPossible(database: Orm, settings: ServerEnv, log: Logger): Promise<void> {
  if (!settings.ADMIN_PASSWORD) {
    return;
  }
  for (let waitMs = 500; !stopping; waitMs = Math.min(waitMs * 2, 15_000)) {
    try {
      const made = await seedAdmin(database, { username: settings.ADMIN_USERNAME, password: settings.ADMIN_PASSWORD });
      if (made) {
        log.info({ username: made.username }, 'created the first administrator');
      }
      return;
    } catch (error) {
      log.warn({ err: error }, 'cannot look for the first administrator yet');
      await sleep(waitMs);
    }
  }
}
