/**
 * `npm start` as a whole, with the real programs. Kills and refusals are tested with stand-ins in
 * test/faults.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { upFolder, type Up, type UpFolder } from '../../support/up-process.ts';
import { allowedMs } from '../../support/machine.ts';

const program = join(import.meta.dirname, '../../../dev/up.ts');

let folder: UpFolder;
let up: Up;
let url: string;
let password: string;

async function logIn(): Promise<{ status: number; token: string }> {
  const response = await fetch(`${url}/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password }),
  });
  const { access_token = '' } = (await response.json()) as { access_token?: string };
  return { status: response.status, token: access_token };
}

const logs = () =>
  readdirSync(folder.dataDir)
    .filter((name) => name.endsWith('.log'))
    .map((name) => readFileSync(join(folder.dataDir, name), 'utf8'))
    .join('\n');

beforeAll(async () => {
  folder = upFolder();
  up = folder.start({}, { program });
  url = await up.ready();
  password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1] ?? '';
});
afterAll(() => folder.clean());

describe('npm start', () => {
  test('is ready when the administrator can log in with the printed password', async () => {
    const { status: answered, token } = await logIn();
    expect(answered).toBe(200);
    expect((await fetch(`${url}/agents`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(
      200,
    );
  });

  test('is ready when the worker takes up work, and the readiness covers both servers', async () => {
    expect(logs()).toContain('"msg":"worker ready"');
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ status: 'ok' }),
    ]);
  });

  test('serves A2A over gRPC at the printed address', async () => {
    const address = /A2A \(gRPC\) +(\S+)/.exec(up.output())?.[1] ?? '';
    const client = new Client(address, credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = A2AService.getExtendedAgentCard;
    const error = await new Promise<ServiceError | null>((resolve) =>
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { tenant: '' }, (refused) =>
        resolve(refused),
      ),
    );
    client.close();
    expect(error).toMatchObject({ code: status.UNAUTHENTICATED });
  });

  test('logs no password, token or key', async () => {
    const { token } = await logIn();
    const keys = readFileSync(join(folder.dataDir, 'encryption-keys'), 'utf8').trim();
    for (const secret of [password, token, keys.split(':')[1] ?? keys])
      expect(logs().includes(secret)).toBe(false);
  });

  test('drains api and worker on Ctrl-C, and keeps the administrator for the next start', async () => {
    const at = Date.now();
    up.interrupt();
    expect(await up.exited).toBe(0);
    expect(Date.now() - at).toBeLessThan(allowedMs(10_000));
    expect(logs()).toMatch(/"name":"api".*"msg":"stopped"/);
    expect(logs()).toContain('"msg":"worker stopped"');
    expect(await folder.running()).toEqual([]);
    up = folder.start({}, { program });
    url = await up.ready();
    expect(up.output()).toContain('first password: ');
    expect(up.output()).not.toContain(password);
    expect((await logIn()).status).toBe(200);
    up.interrupt();
    expect(await up.exited).toBe(0);
  });
});

describe('npm start with an unreachable server', () => {
  test('comes up without Temporal, reports it, and stops as usual', async () => {
    const alone = upFolder();
    try {
      const starting = alone.start({ TEMPORAL_ADDRESS: '127.0.0.1:1' }, { program });
      const degraded = await fetch(`${await starting.ready()}/readyz`);
      expect([degraded.status, await degraded.json()]).toEqual([
        200,
        expect.objectContaining({ status: 'degraded' }),
      ]);
      expect(starting.output()).toContain('Temporal on 127.0.0.1:1 does not answer');
      starting.interrupt();
      expect(await starting.exited).toBe(0);
      expect(await alone.running()).toEqual([]);
    } finally {
      await alone.clean();
    }
  });

  test('ends without PostgreSQL, and names the server without the password', async () => {
    const alone = upFolder();
    try {
      const starting = alone.start(
        { DATABASE_URL: 'postgres://cadenza:the-password@127.0.0.1:1/mine', TEMPORAL_ADDRESS: '127.0.0.1:1' },
        { program },
      );
      expect(await starting.exited).toBe(1);
      expect(starting.output()).toContain(
        'Cannot read the database "mine" on 127.0.0.1:1: connect ECONNREFUSED',
      );
      expect(starting.output()).not.toMatch(/the-password|\n +at /);
      expect(await alone.running()).toEqual([]);
    } finally {
      await alone.clean();
    }
  });
});
