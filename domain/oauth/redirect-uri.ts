/** Which redirect URIs a client may register, and which of them a request may name. */

const MAX_URI_LENGTH = 400;
/** Schemes that browsers and operating systems handle themselves, or that send the code over the network. */
const REFUSED_SCHEMES = new Set(
  [
    [
      'javascript',
      'data',
      'vbscript',
      'file',
      'filesystem',
      'blob',
      'about',
      'view-source',
      'jar',
      'resource',
    ],
    ['edge', 'opera', 'brave', 'vivaldi', 'intent', 'android-app', 'market', 'search-ms', 'shell', 'hcp'],
    ['ws', 'wss', 'ftp', 'ftps', 'sftp', 'smb', 'afp', 'nfs', 'ssh', 'telnet', 'git', 'ldap', 'ldaps'],
    ['gopher', 'news', 'nntp', 'irc', 'ircs', 'mailto', 'tel', 'sms', 'geo', 'maps', 'facetime'],
  ].flat(),
);
const REFUSED_FAMILIES = /^(?:chrome|moz-|ms-|x-apple|itms)/;
/** Names an app: `com.example.app:/path` (RFC 8252 section 7.1) or `app://host/path`. */
const APP_URI = /^(?:[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:\/|[a-z][a-z0-9+-]*:\/\/[^/])/;
const LOOPBACK = /^(127\.0\.0\.1|\[::1\]|localhost)$/;

/** Why a URI cannot be registered; null if it can. */
export function redirectUriProblem(uri: string): string | null {
  const url = uri.length <= MAX_URI_LENGTH && URL.canParse(uri) ? new URL(uri) : null;
  if (url === null) return 'is not a URI of at most 400 characters';
  // Other spellings of one address would be compared wrongly.
  if (url.href !== uri && url.href !== `${uri}/`) return `must be written ${url.href}`;
  if (url.hash !== '' || uri.includes('#')) return 'must not have a fragment';
  if (url.username !== '' || url.password !== '') return 'must not have a user';
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    return 'must be HTTPS, except on a loopback address';
  // URIs are compared exactly, so one with a wildcard would never be reached.
  if (url.hostname.includes('*')) return 'must name one host, without a wildcard';
  const scheme = url.protocol.slice(0, -1);
  if (REFUSED_SCHEMES.has(scheme) || REFUSED_FAMILIES.test(scheme))
    return `must not have the scheme ${scheme}`;
  if (!APP_URI.test(uri)) return 'must have the form https://…, com.example.app:/… or app://…';
  return null;
}

/**
 * Compares exactly; on a loopback address any port will do, since programs take a free one (RFC 8252 section
 * 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  if (redirectUriProblem(uri) !== null) return false;
  const asked = withoutPort(uri);
  return asked !== null && registered.some((one) => withoutPort(one) === asked);
}

/** Null for other URIs than those of loopback addresses. */
function withoutPort(uri: string): string | null {
  const url = new URL(uri);
  if (url.protocol !== 'http:' || !LOOPBACK.test(url.hostname)) return null;
  url.port = '';
  return url.href;
}
