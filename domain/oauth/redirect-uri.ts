/** Which redirect URIs a client may register, and which of them a request may name. */

const MAX_URI_LENGTH = 400;
/** Schemes that run code, read this machine, or leak the code to the network. */
const REFUSED_SCHEMES = /^(javascript|data|vbscript|file|filesystem|blob|about|ws|wss|ftp|mailto|intent):$/;
const LOOPBACK = /^(127\.0\.0\.1|\[::1\]|localhost)$/;

/** Why a URI cannot be registered; null if it can. */
export function redirectUriProblem(uri: string): string | null {
  const url = uri.length <= MAX_URI_LENGTH && URL.canParse(uri) ? new URL(uri) : null;
  if (url === null) return 'is not a URI of at most 400 characters';
  // Other spellings of one address would be compared wrongly.
  if (url.href !== uri && url.href !== `${uri}/`) return `must be written ${url.href}`;
  if (url.hash !== '' || uri.includes('#')) return 'must not have a fragment';
  if (url.username !== '' || url.password !== '') return 'must not have a user';
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) return 'must be HTTPS, except on LOOPBACK';
  if (REFUSED_SCHEMES.test(url.protocol)) return `must not have the scheme ${url.protocol}`;
  return null;
}

/** Compares exactly; on LOOPBACK any port will do, since programs take a free one (RFC 8252 section 7.3). */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  if (redirectUriProblem(uri) !== null) return false;
  const asked = withoutPort(uri);
  return asked !== null && registered.some((one) => withoutPort(one) === asked);
}

/** Null for other URIs than those of LOOPBACK. */
function withoutPort(uri: string): string | null {
  const url = new URL(uri);
  if (url.protocol !== 'http:' || !LOOPBACK.test(url.hostname)) return null;
  url.port = '';
  return url.href;
}
