import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../config/logger.ts';
import type { TemporalSettings } from '../temporal/client.ts';
import { TemporalUnavailable } from '../domain/ports.ts';
import { WrongTemporal } from '../domain/operations/temporal-identity.ts';
import { isUnavailable } from '../temporal/grpc-failures.ts';
import { inTime } from '../temporal/in-time.ts';

const PAUSE_MS = 1_000;
/** Of one call while a worker starts. */
const CALL_TIMEOUT_MS = 10_000;
const LONGEST_PAUSE_MS = 15_000;
/** How often a key that may be replaced is looked at. */
const KEY_CHECK_MS = 2_000;

/**
 * Waits for Temporal without a time limit, because a worker may start before it. An API key that is replaced
 * in its file is used from then on.
 */
export async function connectNative(settings: TemporalSettings, logger: Logger): Promise<NativeConnection> {
  for (;;) {
    try {
      const { apiKey } = settings;
      const key = typeof apiKey === 'function' ? apiKey() : apiKey;
      const connecting = NativeConnection.connect({
        address: settings.address,
        ...(key === undefined ? {} : { apiKey: key }),
        ...(settings.tls === undefined ? {} : { tls: settings.tls }),
      });
      const connection = await inTime(connecting, CALL_TIMEOUT_MS).catch((error: unknown) => {
        // It may be there later.
        connecting.then((late) => late.close()).catch(() => {});
        throw error;
      });
      if (typeof apiKey === 'function') followKey(connection, apiKey, key, logger);
      return connection;
    } catch (error) {
      logger.warn({ err: error, address: settings.address }, 'Temporal is unavailable, trying again');
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/**
 * A step of a start that needs servers, again until they are there: each may go away at any moment.
 * @throws what Temporal refuses, which another try does not change
 */
export async function persistently<T>(logger: Logger, step: () => Promise<T>): Promise<T> {
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await step();
    } catch (error) {
      if (isGrpcServiceError(error) && !isUnavailable(error)) throw error;
      if (error instanceof NamespaceNotFoundError)
        logger.warn(`Temporal has no namespace ${error.namespace} (TEMPORAL_NAMESPACE), trying again`);
      else logger.warn({ err: error }, 'PostgreSQL or Temporal is unavailable, trying again');
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Waits until Temporal is known to have the runs of the database. Ends the process if it does not. */
export async function temporalIsRight(verify: () => Promise<void>, logger: Logger): Promise<void> {
  await persistently(logger, async () => {
    try {
      await verify();
    } catch (error) {
      if (error instanceof WrongTemporal) {
        logger.fatal(error.message);
        process.exit(1);
      }
      throw error instanceof TemporalUnavailable ? (error.cause ?? error) : error;
    }
  });
}

/**
 * Waits until the namespace can be described. The SDK asks for it as the worker begins to run, a few times
 * only, and a worker that it refuses cannot be run again.
 */
export async function namespaceIsThere(
  connection: NativeConnection,
  namespace: string,
  logger: Logger,
): Promise<void> {
  await persistently(logger, () =>
    inTime(connection.workflowService.describeNamespace({ namespace }), CALL_TIMEOUT_MS),
  );
}

/** Ends when the connection is closed, whose new key is refused. */
function followKey(
  connection: NativeConnection,
  apiKey: () => string,
  first: string | undefined,
  logger: Logger,
): void {
  let used = first;
  const timer = setInterval(() => {
    const next = apiKey();
    if (next === used) return;
    used = next;
    connection.setApiKey(next).then(
      () => logger.info('the API key for Temporal was replaced'),
      (error: unknown) => {
        clearInterval(timer);
        logger.debug({ err: error }, 'the connection to Temporal is closed');
      },
    );
  }, KEY_CHECK_MS);
  timer.unref();
}
