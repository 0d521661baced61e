/** Traces for a benchmark: all of Cadenza in this process exports to a receiver that reads nothing of it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseEnv } from '../../../config/env.ts';
import { createLogger } from '../../../config/logger.ts';
import { createRunEventWatcher } from '../../../db/run-event-watcher.ts';
import { startTracing } from '../../../tracing/start.ts';
import { startTracePump } from '../../../worker/trace-pump.ts';
import type { TestPlatform } from '../../support/platform.ts';

/** Call it before anything of the platform is made. */
export async function traceEverything(): Promise<{ follow(platform: TestPlatform): () => Promise<void> }> {
  const receiver = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = endpoint;
  const parsed = parseEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  const logger = createLogger({ name: 'bench', level: 'silent' });
  const tracing = 'env' in parsed ? await startTracing(parsed.env, 'bench', logger) : null;
  if (tracing === null) throw new Error('nothing is recorded');
  return {
    follow({ orm, databaseUrl }) {
      const runEvents = createRunEventWatcher(databaseUrl, logger);
      const pump = startTracePump({ fork: () => orm.em.fork(), tracing, runEvents, logger });
      return async () => {
        await pump.stop();
        await Promise.all([tracing.stop(), runEvents.stop()]);
        receiver.close();
      };
    },
  };
}
