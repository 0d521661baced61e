import { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../config/logger.ts';
import type { TemporalSettings } from '../temporal/client.ts';

const PAUSE_MS = 1_000;

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
