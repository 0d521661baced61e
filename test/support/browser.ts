/** A browser as the API sees it: the session cookie, and the headers that tell where a request comes from. */
import { sessionCookieName } from '../../api/middleware/session-cookie.ts';
import { openCookieSession } from '../../domain/auth/cookie-sessions.ts';
import { createClient, type Client, type Reply, type TestApp, type TestUser } from './app.ts';

/** The headers of a request from a page of this server. */
export const fromOwnPage = { 'sec-fetch-site': 'same-origin' };

/** `Set-Cookie` of a reply as a browser would send it back: all cookies that are not empty. */
export function cookiesOf(reply: Reply): string {
  return reply.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0] ?? '')
    .filter((cookie) => !cookie.endsWith('='))
    .join('; ');
}

/** Sends these headers with every request, unless the request has its own. */
export function withHeaders(client: Client, headers: Record<string, string>): Client {
  const request: Client['request'] = (method, path, options = {}) =>
    client.request(method, path, { ...options, headers: { ...headers, ...options.headers } });
  const withBody =
    (method: string): Client['post'] =>
    (path, body, options = {}) =>
      request(method, path, { ...options, body });
  return {
    request,
    get: (path, options) => request('GET', path, options),
    post: withBody('POST'),
    put: withBody('PUT'),
    patch: withBody('PATCH'),
    delete: (path, options) => request('DELETE', path, options),
  };
}

export function logInBrowser(
  url: string,
  username: string,
  password: string,
  headers: Record<string, string> = fromOwnPage,
): Promise<Reply> {
  return createClient(url).post('/console/session', { username, password }, { headers });
}

/** The cookie of a session of this user, without the cost of a password. */
export async function sessionCookie(app: TestApp, user: TestUser): Promise<string> {
  const secret = await openCookieSession(app.orm.em.fork(), user, {
    ip: '192.0.2.1',
    userAgent: 'test',
    requestId: null,
  });
  return `${sessionCookieName(app.env.BASE_URL)}=${secret}`;
}
