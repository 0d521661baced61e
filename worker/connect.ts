import { isGrpcServiceError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../config/logger.ts';
import type { TemporalSettings } from '../temporal/client.ts';
import { isUnavailable } from '../temporal/grpc-failures.ts';

const PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/** Waits for Temporal without a time limit, because a worker may start before it. */
export async function connectNative(settings: TemporalSettings, logger: Logger): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect({
        address: settings.address,
        ...(settings.apiKey === undefined ? {} : { apiKey: settings.apiKey }),
        ...(settings.tls === undefined ? {} : { tls: settings.tls }),
      });
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
      logger.warn({ err: error }, 'PostgreSQL or Temporal is unavailable, trying again');
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
