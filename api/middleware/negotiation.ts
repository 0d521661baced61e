import type { Middleware } from 'koa';

/** No client needs more; the time to read these headers grows with the square of their length. */
const MAX_LENGTH = 2_048;

/**
 * Disregards over-long `Accept` and `Accept-Encoding` headers, as RFC 9110 sections 12.5.1 and 12.5.3 allow:
 * the caller gets the default media type, uncompressed.
 */
export const negotiationMiddleware: Middleware = ({ req: { headers } }, next) => {
  if ((headers.accept?.length ?? 0) > MAX_LENGTH) delete headers.accept;
  if (String(headers['accept-encoding'] ?? '').length > MAX_LENGTH) headers['accept-encoding'] = 'identity';
  return next();
};
