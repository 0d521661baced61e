/** JSON logs with pino. Secrets are redacted from every object, error and message before it is written. */
import { pino, type DestinationStream, type Logger } from 'pino';
import { redact, redactText } from './redact.ts';

export type { Logger } from 'pino';

/**
 * Creates a logger that writes one JSON object per line to stdout, or to `destination`: `level` as a word,
 * `time` in RFC 3339, `name` of the process. Log errors under `err`.
 */
export function createLogger(options: {
  name: string;
  level?: string;
  destination?: DestinationStream;
  /** Of each entry, such as the trace that it belongs to. */
  fields?: () => Record<string, unknown>;
}): Logger {
  const logger = pino(
    {
      name: options.name,
      level: options.level ?? 'info',
      timestamp: pino.stdTimeFunctions.isoTime,
      // `redact` serializes errors itself, so that their causes and custom fields are redacted too.
      serializers: { err: (value: unknown) => value },
      ...(options.fields ? { mixin: options.fields } : {}),
      formatters: {
        level: (label) => ({ level: label }),
        log: (entry) => redactObject(entry),
      },
      hooks: {
        logMethod(args, method) {
          const scrubbed = args.map((arg: unknown) => (typeof arg === 'string' ? redactText(arg) : arg));
          // pino types the arguments as an overloaded tuple; map() keeps their number and order.
          return method.apply(this, scrubbed as typeof args);
        },
      },
    },
    options.destination ?? pino.destination({ fd: 1, sync: true }),
  );
  // pino does not pass a child's bindings through its formatters; children inherit this method.
  const { child } = Object.getPrototypeOf(logger) as Pick<Logger, 'child'>;
  logger.child = function (this: Logger, bindings: Record<string, unknown>, ...rest: unknown[]) {
    return Reflect.apply(child, this, [redactObject(bindings), ...rest]);
  } as typeof child;
  return logger;
}

function redactObject(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redact(entry, key)]));
}
