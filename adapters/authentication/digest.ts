/**
 * Client side of HTTP Digest authentication (RFC 7616): MD5 and SHA-256, with and without `-sess`, qop `auth`
 * or none.
 */
import { createHash, randomBytes } from 'node:crypto';
import { fault } from '../../contracts/fault.ts';

const ALGORITHMS: Record<string, string> = { md5: 'md5', 'sha-256': 'sha256', 'sha-512-256': 'sha512-256' };

/**
 * The `Authorization` value for a `WWW-Authenticate: Digest …` challenge; null if the header contains none.
 * Throws `Fault` for an unsupported challenge.
 */
export function digestAuthorization(
  challenge: string,
  request: { method: string; url: string; username: string; password: string },
): string | null {
  const parameters = challengeParameters(challenge);
  if (parameters === null) return null;
  const { realm = '', nonce = '', opaque, qop, algorithm = 'MD5' } = parameters;
  const session = /-sess$/i.test(algorithm);
  const hashName = ALGORITHMS[algorithm.toLowerCase().replace(/-sess$/, '')];
  if (hashName === undefined)
    throw fault('authentication', 'The requested digest algorithm is not supported');
  const useQop = qop?.split(',').some((each) => each.trim().toLowerCase() === 'auth') ?? false;
  if (qop !== undefined && !useQop)
    throw fault('authentication', 'The requested digest protection is not supported');

  const hash = (text: string): string => createHash(hashName).update(text).digest('hex');
  const { pathname, search } = new URL(request.url);
  const uri = pathname + search;
  const cnonce = randomBytes(16).toString('hex');
  const count = '00000001';
  const base = hash(`${request.username}:${realm}:${request.password}`);
  const first = session ? hash(`${base}:${nonce}:${cnonce}`) : base;
  const second = hash(`${request.method}:${uri}`);
  const response = hash(
    useQop ? `${first}:${nonce}:${count}:${cnonce}:auth:${second}` : `${first}:${nonce}:${second}`,
  );

  const fields = [
    ['username', quoted(request.username)],
    ['realm', quoted(realm)],
    ['nonce', quoted(nonce)],
    ['uri', quoted(uri)],
    ['response', quoted(response)],
    ['algorithm', algorithm],
    ...(opaque === undefined ? [] : [['opaque', quoted(opaque)]]),
    ...(useQop
      ? [
          ['qop', 'auth'],
          ['nc', count],
        ]
      : []),
    ...(useQop || session ? [['cnonce', quoted(cnonce)]] : []),
  ];
  return `Digest ${fields.map(([name, value]) => `${name}=${value}`).join(', ')}`;
}

function challengeParameters(challenge: string): Record<string, string> | null {
  const start = /(?:^|,\s*)Digest\s+/i.exec(challenge);
  if (start === null) return null;
  const parameters: Record<string, string> = {};
  const parameter = /\s*([a-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))\s*(?:,|$)/iy;
  parameter.lastIndex = start.index + start[0].length;
  for (let match = parameter.exec(challenge); match !== null; match = parameter.exec(challenge)) {
    parameters[(match[1] ?? '').toLowerCase()] = match[2]?.replace(/\\(.)/g, '$1') ?? match[3] ?? '';
  }
  return parameters;
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}
