/** What `cadenza server doctor` says of ports, file stores, issuers, disks, clocks and connections. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';

import { createLocalFileStore } from '../../../adapters/file-stores/local-file-store.ts';
import { connectionsFinding, readConnections } from '../../../dev/server/checks/connections.ts';
import { clockFinding, type Finding } from '../../../dev/server/checks/finding.ts';
import { portFindings, type ApiAddresses } from '../../../dev/server/checks/ports.ts';
import {
  diskFinding,
  diskFindings,
  filesFinding,
  issuerFindings,
} from '../../../dev/server/checks/surroundings.ts';
import { diagnoseOpened } from '../../../dev/server/doctor.ts';
import { claimFileStore } from '../../../domain/files/store-identity.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { startServer } from '../../support/http-server.ts';
import { ownPort } from '../../support/machine.ts';

const TOKEN = 't'.repeat(32);
/** Nothing listens here. */
const NOBODY = 'http://127.0.0.1:1';

let app: TestApp;
let grpcPort: number;
let folder: string;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cadenza-doctor-'));
  grpcPort = await ownPort();
  app = await startTestApp({
    env: { A2A_GRPC_PORT: String(grpcPort), METRICS_TOKEN: TOKEN, ADMIN_PASSWORD: 'a long password' },
  });
  // Ready once somebody could log in.
  await app.user('admin');
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function foreignServer(text: string): Promise<{ url: string; port: number }> {
  const server = await startServer((_request, response) => void response.end(text));
  ends.push(() => server.close());
  return server;
}

/** Speaks as soon as somebody connects, and no HTTP. */
async function foreignProgram(): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end('220 mail.example ESMTP\r\n');
    sockets.add(socket);
  });
  const sockets = new Set<Socket>();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // A listening TCP server has this address.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const addresses = (more: Partial<ApiAddresses>): ApiAddresses => ({
  urls: [app.url],
  elsewhere: null,
  isExpected: true,
  ...more,
});
const of = (findings: Finding[], check: string): Finding[] => findings.filter((one) => one.check === check);

describe('the api', () => {
  const apiFindings = async (more: Partial<ApiAddresses>): Promise<Finding[]> =>
    of(await portFindings({ ...app.env, A2A_GRPC_PORT: 'off' }, addresses(more)), 'api');

  test('that answers is fine, with what it says of itself', async () => {
    expect(await apiFindings({})).toEqual([{ check: 'api', status: 'ok', detail: `${app.url} answers 200` }]);
  });

  test.each([
    ['serves pages', () => foreignServer('<html>Not found</html>').then(({ url }) => url)],
    ['serves JSON', () => foreignServer('{"status":"ok"}').then(({ url }) => url)],
    ['does not speak HTTP', foreignProgram],
  ])('whose port has a program that %s is a failure', async (_what, start) => {
    const url = await start();
    const expected = {
      check: 'api',
      status: 'error',
      detail: `${url} is of another program, not of Cadenza. Stop that program, or set another PORT.`,
    };
    expect(await apiFindings({ urls: [url], elsewhere: app.url })).toEqual([expected]);
    expect(await apiFindings({ urls: [url], isExpected: false })).toEqual([expected]);
    expect(await apiFindings({ urls: [app.url, url] })).toEqual([
      expect.objectContaining({ status: 'ok' }),
      expected,
    ]);
  });

  test('that is down is a failure, unless npm start does not run, or others answer elsewhere', async () => {
    const [down] = await apiFindings({ urls: [NOBODY], elsewhere: 'http://127.0.0.1:2' });
    expect(down).toMatchObject({
      status: 'error',
      detail: expect.stringContaining(`no answer from ${NOBODY}`),
    });
    expect(down?.detail).toContain('Start the api, and see its log.');
    const [stopped] = await apiFindings({ urls: [NOBODY], isExpected: false });
    expect(stopped).toMatchObject({ status: 'warn', detail: expect.stringContaining('npm start') });
    const [elsewhere] = await apiFindings({ urls: [NOBODY], elsewhere: app.url });
    expect(elsewhere).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining(`${app.url} answers 200`),
    });
  });

  test('is looked for where the settings say, first where other programs reach it', async () => {
    const settings = { ...app.env, PORT: 1, BASE_URL: 'http://127.0.0.1:2', DATABASE_URL: app.databaseUrl };
    const diagnosed = async (more: object): Promise<Finding[]> =>
      of(
        await diagnoseOpened({
          env: { ...settings, ...more },
          orm: app.orm,
          fork: () => app.orm.em.fork(),
          files: createLocalFileStore(app.env.FILES_DIR),
          dataDir: null,
          close: async () => {},
        }),
        'api',
      );
    expect(await diagnosed({})).toEqual([expect.objectContaining({ status: 'error' })]);
    expect(await diagnosed({ OPENID_BACKCHANNEL_URL: app.url })).toEqual([
      expect.objectContaining({ status: 'ok', detail: `${app.url} answers 200` }),
    ]);
  });
});

describe('other ports', () => {
  const findings = (more: object): Promise<Finding[]> => portFindings({ ...app.env, ...more }, addresses({}));

  test('gRPC is the own one, or that of a foreign program', async () => {
    const good = await findings({});
    expect(of(good, 'gRPC')).toEqual([{ check: 'gRPC', status: 'ok', detail: `127.0.0.1:${grpcPort}` }]);
    const { port } = await foreignServer('hello');
    const [bad] = of(await findings({ A2A_GRPC_PORT: port }), 'gRPC');
    expect(bad).toMatchObject({
      status: 'error',
      detail: expect.stringContaining('set another A2A_GRPC_PORT'),
    });
    expect(of(await findings({ A2A_GRPC_PORT: 'off' }), 'gRPC')).toEqual([]);
  });

  test('metrics of the api need the token of these settings', async () => {
    const check = 'metrics of the api';
    expect(of(await findings({}), check)).toEqual([{ check, status: 'ok', detail: `${app.url}/metrics` }]);
    const [other] = of(await findings({ METRICS_TOKEN: 'o'.repeat(32) }), check);
    expect(other).toMatchObject({ status: 'error', detail: expect.stringContaining('answers 401') });
  });

  test('metrics of a worker are its own, of a foreign program, or not on this machine', async () => {
    const check = 'metrics of the worker';
    const judged = async (address: string): Promise<string[]> =>
      of(await findings({ WORKER_METRICS_ADDRESS: address }), check).map(({ status }) => status);
    const { port } = await foreignServer('# TYPE temporal_request counter\ntemporal_request 1\n');
    expect(await judged(`0.0.0.0:${port}`)).toEqual(['ok']);
    const { port: other } = await foreignServer('process_cpu_seconds_total 1\n');
    expect(await judged(`127.0.0.1:${other}`)).toEqual(['error']);
    expect(await judged('127.0.0.1:1')).toEqual(['warn']);
    expect(of(await findings({}), check)).toEqual([]);
  });
});

describe('stores', () => {
  const em = () => app.orm.em.fork();
  const found = (path: string): Promise<Finding> => filesFinding(em(), app.env, createLocalFileStore(path));

  test('the file store is that of the database, of another one, or cannot be written to', async () => {
    const own = createLocalFileStore(app.env.FILES_DIR);
    await claimFileStore(em(), own);
    expect(await found(app.env.FILES_DIR)).toEqual({ check: 'file store', status: 'ok', detail: own.place });
    const other = join(folder, 'other');
    await createLocalFileStore(other).writeMark(randomUUID());
    expect(await found(other)).toMatchObject({
      status: 'error',
      detail: expect.stringContaining('is not the store of this database'),
    });
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    expect(await found(join(file, 'files'))).toMatchObject({
      status: 'error',
      detail: expect.stringContaining('cannot be written to'),
    });
  });

  test('a disk with little space left is shown, and one that is nearly full is a failure', async () => {
    const GIB = 1024 ** 3;
    expect([3 * GIB, 1.5 * GIB, 0.1 * GIB].map((free) => diskFinding('/data', free))).toEqual([
      { check: 'disk', status: 'ok', detail: '3.0 GiB free for /data' },
      expect.objectContaining({ status: 'warn', detail: expect.stringContaining('1.5 GiB free') }),
      expect.objectContaining({ status: 'error', detail: expect.stringContaining('Free some') }),
    ]);
    const settings = { DATA_DIR: folder, FILES_DIR: join(folder, 'none'), FILES_S3_BUCKET: undefined };
    const details = async (TEMPORAL_ADDRESS: string | undefined, hasOwnDatabase: boolean) =>
      (await diskFindings({ ...settings, TEMPORAL_ADDRESS }, hasOwnDatabase)).map(({ detail }) => detail);
    const ofFolder = [expect.stringContaining(` GiB free for ${folder}`)];
    expect(await details('temporal:7233', true)).toEqual(ofFolder);
    expect(await details(undefined, false)).toEqual(ofFolder);
    // Nothing of this installation is in DATA_DIR.
    expect(await details('temporal:7233', false)).toEqual([]);
  });
});

test.each([
  [1_000, 0, 'ok'],
  [5_000, 4_000, 'ok'],
  [-5_000, 100, 'warn'],
  [40_000, 100, 'error'],
])('a clock that is %d ms ahead, give or take %d, is %s', (aheadMs, blurMs, status) => {
  const finding = clockFinding('clock of x', aheadMs, blurMs);
  expect(finding.status).toBe(status);
  if (status !== 'ok') expect(finding.detail).toContain(aheadMs > 0 ? 'ahead of' : 'behind');
});

describe('connections', () => {
  test('are those that all running copies and the others may take', () => {
    const state = { most: 100, used: 30, others: 20, processes: 3 };
    expect(connectionsFinding(state, 15)).toMatchObject({ status: 'ok' });
    expect(connectionsFinding(state, 20)).toMatchObject({
      status: 'warn',
      detail: expect.stringMatching(/up to 21 each .*no room for one more copy.*Raise max_connections/),
    });
    expect(connectionsFinding(state, 30)).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('113 are needed'),
    });
  });

  test('tell processes of this database by the connection with which each listens', async () => {
    const before = await readConnections(app.orm.em.fork());
    const connect = async (url: string, name: string): Promise<void> => {
      const client = new pg.Client({ connectionString: url, application_name: name });
      await client.connect();
      ends.push(() => client.end());
    };
    await connect(app.databaseUrl, 'cadenza-listen');
    // A process of another installation, and a program that is none of ours.
    await connect(app.databaseUrl.replace(/[^/]*$/, 'postgres'), 'cadenza-listen');
    await connect(app.databaseUrl, 'psql');
    const after = await readConnections(app.orm.em.fork());
    expect(after.processes).toBe(before.processes + 1);
    expect(after.others).toBeGreaterThanOrEqual(2);
    expect(after.used).toBeGreaterThanOrEqual(after.others + after.processes);
    expect(after.most).toBeGreaterThan(after.used);
  });
});

test('an issuer that does not answer is a failure that does not hide the others', async () => {
  const admin = await app.as('admin');
  const add = (name: string, issuer: string) =>
    admin.post('/identity-issuers', { name, title: name, issuer, client_id: 'c', client_secret: 's' });
  expect((await add('gone', 'http://127.0.0.1:1')).status).toBe(201);
  const findings = await issuerFindings(app.orm.em.fork(), { ...app.env, EGRESS_ALLOW: ['127.0.0.1'] });
  expect(findings).toEqual([
    {
      check: 'issuer gone',
      status: 'error',
      detail: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1: .*Check its address and EGRESS_ALLOW/),
    },
  ]);
});
