/** What every kind of worker process opens, from the same settings. */
import { createEgressPolicy } from '../adapters/egress/create-egress-policy.ts';
import { createFileStore } from '../adapters/file-stores/create-file-store.ts';
import type { ServerEnv } from '../config/env.ts';
import type { Logger } from '../config/logger.ts';
import { ownServers } from '../config/own-servers.ts';
import { listenForEndedCalls } from '../db/notifications.ts';
import { createOrm } from '../db/orm.ts';
import { createPayloadStore } from '../domain/files/payload-store.ts';
import { readInstallationId } from '../domain/operations/installation.ts';
import { settleProcess } from '../domain/operations/settle-start.ts';
import type { VerifiedTemporal } from '../domain/operations/verified-temporal.ts';
import { createEncryption } from '../domain/secrets/encryption.ts';
import { resolveSecret } from '../domain/secrets/service.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';

/** Connects to nothing yet, but for a file store that says so itself. */
export async function openResources(env: ServerEnv, logger: Logger) {
  const orm = createOrm({
    url: env.DATABASE_URL,
    logger,
    poolSize: env.DATABASE_POOL_SIZE,
    connectionTimeoutMs: 30_000,
    watchesAnswers: true,
  });
  const fork = () => orm.em.fork();
  const settings = temporalSettings(env);
  const files = await createFileStore(env);
  const payloads = {
    keys: env.ENCRYPTION_KEYS,
    store: createPayloadStore({ fork, files, inFiles: env.FILES_LARGE_VALUES }),
    acceptUnencrypted: env.ACCEPT_UNENCRYPTED_PAYLOADS,
    unreadable: (error: Error) => logger.error({ err: error }, 'cannot read a Temporal payload'),
  };
  const encryption = createEncryption(env.ENCRYPTION_KEYS);
  let installation: Promise<string> | null = null;
  return {
    orm,
    fork,
    files,
    settings,
    client: createTemporalClient(settings, createDataConverter(payloads)),
    /** Of the worker itself. */
    dataConverter: createDataConverter({ ...payloads, refusals: 'mark' }),
    encryption,
    secret: (ownerId: string, name: string) => resolveSecret(fork(), encryption, ownerId, name),
    egress: createEgressPolicy({
      allow: env.EGRESS_ALLOW,
      hostMap: env.EGRESS_HOST_MAP,
      own: ownServers(env),
    }),
    installationId: (): Promise<string> =>
      (installation ??= readInstallationId(fork()).catch((error: unknown) => {
        // The next caller asks again.
        installation = null;
        throw error;
      })),
    endedCalls: listenForEndedCalls(env.DATABASE_URL, logger),
    /**
     * Resolves once schema, keys, files and Temporal fit together, or Temporal is slow or away. Ends the
     * process if they never will.
     */
    settled: (verifyTemporal: VerifiedTemporal['verify']): Promise<void> =>
      settleProcess({ fork, files, verifyTemporal, logger }, env),
  };
}
