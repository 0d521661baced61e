/** Tells failures of the database apart. */

/** Messages of pg for connection failures, which have no error code. */
const CONNECTION_MESSAGES = [
  'Connection terminated',
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
];
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'ENOENT',
  // This process has no descriptors left, or the machine no ports.
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
  '25P03',
  '57014',
  '42P01',
  '3D000',
]);

/** Whether the server is away, or cannot work at the moment. The statement may have been carried out. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = databaseCode(error);
  if (code === null) return false;
  // 08P01 is a protocol violation: a statement that PostgreSQL could not parse is a bug of ours.
  // 53 and 58: the server has no room, memory or connections left, or its disk fails.
  return UNAVAILABLE_CODES.has(code) || /^(08(?!P01)|53|57P|58)/.test(code) || code === 'connection';
}

/**
 * SQLSTATE or system error code of a database failure, searched through the error's causes; null for other
 * errors.
 */
export function databaseCode(error: unknown): string | null {
  for (
    let current = error;
    current instanceof Error;
    current = current.cause ?? ('previous' in current ? current.previous : undefined)
  ) {
    if (current instanceof AggregateError && current.errors[0] instanceof Error) {
      return databaseCode(current.errors[0]);
    }
    if ('code' in current && typeof current.code === 'string') {
      return current.code;
    }
    const { message } = current;
    if (CONNECTION_MESSAGES.some((start) => message.startsWith(start))) {
      return 'connection';
    }
  }
  return null;
}
