import type { Logger as TemporalLogger, LogLevel, LogMetadata } from '@temporalio/worker';
import type { Logger } from '../config/logger.ts';
import { RUN_WORKFLOW } from '../contracts/temporal.ts';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Writes the SDK's log lines to our log: one JSON line each, secrets redacted. */
export function temporalLogger(logger: Logger): TemporalLogger {
  const write = (level: LogLevel, message: string, meta?: LogMetadata): void => {
    // The SDK's metadata has symbols of its own. Details of each poll are not logged.
    if (level === 'INFO' && meta?.['sdkComponent'] === 'core') return;
    // Some task queues are for activities only.
    if (message.startsWith('No workflows registered')) return;
    // The run's own log says why it faulted. Ours must not repeat that, because it can quote the run's data.
    if (message === 'Workflow failed' && meta?.['workflowType'] === RUN_WORKFLOW) {
      const { error: _error, ...rest } = meta;
      logger.debug(rest, message);
      return;
    }
    logger[LEVELS[level]]({ ...meta }, message);
  };
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}
