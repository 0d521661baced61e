/**
 * Records spans and exports them by OTLP over HTTP, with the SDK of OpenTelemetry, if the settings name a
 * receiver. Otherwise nothing of it is loaded. What cannot be exported is dropped, and nothing waits for it.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { context, diag, DiagLogLevel, propagation, trace, type DiagLogger } from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import type { Env } from '../config/env.ts';
import type { Logger } from '../config/logger.ts';
import { typeOf } from './context.ts';
import { takeChosenId } from './span-ids.ts';

type TracingSettings = Pick<
  Env,
  | 'OTEL_SDK_DISABLED'
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  | 'OTEL_TRACES_SAMPLER'
  | 'OTEL_TRACES_SAMPLER_ARG'
  | 'OTEL_BSP_SCHEDULE_DELAY'
  | 'OTEL_BSP_MAX_QUEUE_SIZE'
>;

export interface Tracing {
  /** Resolves when what has ended so far is exported or dropped. Never rejects. */
  flush(): Promise<void>;
  /** Exports what is left, for a limited time. Never rejects. */
  stop(): Promise<void>;
}

/** Spans that one request to the receiver carries. */
const MAX_BATCH = 512;
/** Of one request, with its repetitions. */
const EXPORT_MS = 10_000;
const STOP_MS = 3_000;
/** Texts in spans are names, which users choose. */
const MAX_TEXT = 500;
/** How often the log says that the receiver is away. */
const WARN_MS = 60_000;

/** @param service such as `api`; OTEL_SERVICE_NAME overrides it @returns null if nothing is to be exported */
export async function startTracing(
  settings: TracingSettings,
  service: string,
  logger: Logger,
): Promise<Tracing | null> {
  const isWanted = settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (isWanted === undefined || settings.OTEL_SDK_DISABLED) return null;
  const [sdk, { OTLPTraceExporter }, { AsyncLocalStorageContextManager }, core] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/core'),
  ]);
  const warn = throttled(logger);
  diag.setLogger(diagnostics(logger, warn), DiagLogLevel.WARN);
  core.setGlobalErrorHandler(warn);
  const random = new sdk.RandomIdGenerator();
  const provider = new sdk.TracerProvider({
    resource: await resourceOf(service),
    sampler: samplerOf(sdk, settings),
    spanLimits: { attributeValueLengthLimit: MAX_TEXT },
    idGenerator: {
      generateTraceId: () => random.generateTraceId(),
      generateSpanId: () => takeChosenId() ?? random.generateSpanId(),
    },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        // Endpoint, headers, compression and certificates are the exporter's own standard settings.
        exporter: new OTLPTraceExporter(),
        scheduledDelayMillis: settings.OTEL_BSP_SCHEDULE_DELAY,
        maxQueueSize: settings.OTEL_BSP_MAX_QUEUE_SIZE,
        maxExportBatchSize: Math.min(MAX_BATCH, settings.OTEL_BSP_MAX_QUEUE_SIZE),
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  // No baggage: what it carries would go on to every counterpart.
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    flush: () => provider.forceFlush({ timeoutMillis: EXPORT_MS }).catch(warn),
    stop: () => Promise.race([provider.shutdown().catch(warn), after(STOP_MS)]),
  };
}

async function resourceOf(service: string) {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } =
    await import('@opentelemetry/resources');
  const own = resourceFromAttributes({
    'service.name': `cadenza-${service}`,
    'service.namespace': 'cadenza',
    'service.version': '1.0.0',
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
  });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

/** OpenTelemetry "General SDK Configuration": the standard samplers. */
function samplerOf(
  sdk: typeof import('@opentelemetry/sdk-trace'),
  { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: TracingSettings,
): Sampler {
  switch (name) {
    case 'always_on':
      return new sdk.AlwaysOnSampler();
    case 'always_off':
      return new sdk.AlwaysOffSampler();
    case 'traceidratio':
      return new sdk.TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new sdk.ParentBasedSampler({ root: new sdk.AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) });
  }
}

/** Says that spans were lost, without what the receiver has answered. */
function throttled(logger: Logger): (error: unknown) => void {
  let last = -WARN_MS;
  return (error) => {
    const now = performance.now();
    if (now - last < WARN_MS) return;
    last = now;
    const [first] = Array.isArray(error) ? (error as unknown[]) : [error];
    logger.warn({ reason: typeOf(first) }, 'cannot export traces, spans are dropped');
  };
}

function diagnostics(logger: Logger, warn: (error: unknown) => void): DiagLogger {
  const quiet = (): void => {};
  return {
    error: warn,
    warn: (message) => logger.warn({ reason: message }, 'traces'),
    info: quiet,
    debug: quiet,
    verbose: quiet,
  };
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
