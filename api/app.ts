/** Composition root of the HTTP side: everything comes in as arguments. */
import type { PayloadCodec } from '@temporalio/common';
import Koa from 'koa';

import type { Env } from '../config/env.ts';
import type { Logger } from '../config/logger.ts';
import type { Orm } from '../db/orm.ts';
import type { RunEventWatcher } from '../db/run-event-watcher.ts';
import { createSigningKeys, type SigningKeys } from '../domain/auth/signing-keys.ts';
import type { FileStore } from '../domain/files/ports.ts';
import type { TemporalGateway } from '../domain/ports.ts';
import { createEncryption, type Encryption } from '../domain/secrets/encryption.ts';
import { a2aMiddleware } from './a2a/mount.ts';
import type { Endpoint } from './endpoint.ts';
import { codecCorsMiddleware } from './middleware/codec-cors.ts';
import { corsMiddleware } from './middleware/cors.ts';
import { errorsMiddleware } from './middleware/errors.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { requestIdMiddleware } from './middleware/request-id.ts';
import { createRouter } from './router.ts';
import { allEndpoints } from './routes/index.ts';
import { referenceEndpoints } from './routes/reference/routes.ts';

export interface CreateAppOptions {
  orm: Orm;
  env: Env;
  logger: Logger;
  temporal: TemporalGateway;
  /** Wakes those who wait for a run's next event. */
  runEvents: RunEventWatcher;
  files: FileStore;
  /** Reads Temporal's payloads, for its UI. */
  payloadCodec?: Pick<PayloadCodec, 'decode'>;
  /** Default: without those of the process. */
  metrics?: Metrics;
  /** Answers off their schema are a 500 instead of a line in the log: development and tests. */
  strictResponses?: boolean;
  /** More endpoints than the product's: tests of the layer itself. */
  endpoints?: (deps: AppDeps) => Endpoint[];
}

/** What routes are given. */
export interface AppDeps extends Omit<CreateAppOptions, 'endpoints'> {
  metrics: Metrics;
  encryption: Encryption;
  keys: SigningKeys;
  /** Address of the gRPC binding as cards name it, while this copy serves it. */
  grpc: { url: string | null };
  /** True from the first signal to stop: readiness goes away before the server does. */
  isStopping: () => boolean;
}

export interface App {
  koa: Koa;
  deps: AppDeps;
  endpoints: Endpoint[];
  /** From now on `/readyz` answers 503, and open streams are told to end. */
  stop(): void;
}

export function createApp(options: CreateAppOptions): App {
  const { orm, env, logger } = options;
  const fork = () => orm.em.fork();
  let stopping = false;
  const encryption = createEncryption(env.ENCRYPTION_KEYS);
  const keys = createSigningKeys(fork, encryption);
  const metrics = options.metrics ?? createMetrics({ orm, logger });
  const deps: AppDeps = { ...options, metrics, encryption, keys, grpc: { url: null }, isStopping: () => stopping };
  const endpoints: Endpoint[] = [
    ...allEndpoints(deps),
    ...referenceEndpoints(deps, () => endpoints),
    ...(options.endpoints?.(deps) ?? []),
  ];

  const koa = new Koa({ proxy: env.TRUST_PROXY > 0, maxIpsCount: env.TRUST_PROXY });
  // Errors of sockets that clients closed are not ours; all others were answered and logged below.
  koa.on('error', (error: unknown) => logger.debug({ err: error }, 'connection error'));
  koa.use(metrics.middleware);
  koa.use(requestIdMiddleware(logger));
  if (env.CORS_ORIGINS.length > 0) {
    koa.use(corsMiddleware(env.CORS_ORIGINS));
  }
  if (env.TEMPORAL_CODEC_TOKEN && env.TEMPORAL_UI_URL) {
    koa.use(codecCorsMiddleware(env.TEMPORAL_UI_URL));
  }
  koa.use(errorsMiddleware(logger));
  koa.use(a2aMiddleware(deps));
  const routes = createRouter(endpoints, {
    fork,
    logger,
    keys,
    issuer: env.BASE_URL,
    baseUrl: env.BASE_URL,
    fingerprint: (text) => encryption.fingerprint(text),
    strictResponses: options.strictResponses ?? false,
    requestsPerMinute: env.RATE_LIMIT_PER_MINUTE,
  });
  for (const route of routes) {
    koa.use(route);
  }
  const stop = () => {
    stopping = true;
    void options.runEvents.stop();
  };
  return { koa, deps, endpoints, stop };
}
