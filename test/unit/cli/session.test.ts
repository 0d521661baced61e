/**
 * The command line's session where it lives for long: its tokens end, and the server is away for a moment.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { ConfigFile } from '../../../cli/core/config-file.ts';
import { Session } from '../../../cli/core/session.ts';

let folder: string;
let server: Server;
let url: string;
/** The only token that the server takes: the last one that it gave. */
let given = 0;
/** How many requests for a token it still refuses with 503. */
let away = 0;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cadenza-session-'));
  [given, away] = [0, 0];
  server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url !== '/auth/token') {
      response.statusCode = request.headers.authorization === `Bearer token-${given}` ? 200 : 401;
      return void response.end('{}');
    }
    if (away > 0) {
      away -= 1;
      response.statusCode = 503;
      return void response.end('{"code": "unavailable", "detail": "Not now."}');
    }
    given += 1;
    const tokens = { access_token: `token-${given}`, refresh_token: `refresh-${given}`, expires_in: 3_600 };
    response.end(JSON.stringify(tokens));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function sessionWith(env: Record<string, string>): Session {
  const all = { HOME: folder, CADENZA_URL: url, ...env };
  return new Session(new ConfigFile(all), all, undefined);
}

test('a machine client gets a new token when the server no longer takes the old one', async () => {
  const session = sessionWith({ CADENZA_CLIENT_ID: 'id', CADENZA_CLIENT_SECRET: 'secret' });
  const statuses = async () => [await session.fetch(`${url}/x`), await session.fetch(`${url}/x`)];
  expect((await statuses()).map(({ status }) => status)).toEqual([200, 200]);
  expect(given).toBe(1);
  given = 7;
  expect((await statuses()).map(({ status }) => status)).toEqual([200, 200]);
  expect(given).toBe(8);
});

test('a machine client that got no token while the server was away gets one later', async () => {
  const session = sessionWith({ CADENZA_CLIENT_ID: 'id', CADENZA_CLIENT_SECRET: 'secret' });
  away = 1;
  await expect(session.fetch(`${url}/x`)).rejects.toThrow('Not now.');
  expect((await session.fetch(`${url}/x`)).status).toBe(200);
});

test('a session whose token ends while the server is away goes on afterwards', async () => {
  const session = sessionWith({});
  await session.logIn({}, { access_token: 'token-0', refresh_token: 'refresh-0', expires_in: 1 });
  away = 1;
  await expect(session.fetch(`${url}/x`)).rejects.toThrow('Not now.');
  expect((await session.fetch(`${url}/x`)).status).toBe(200);
  expect(session.profile?.refresh_token).toBe('refresh-1');
});
