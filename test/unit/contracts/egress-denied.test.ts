import { networkInterfaces } from 'node:os';
import { expect, test } from '@jest/globals';
import { createDenials, isOperationsPath, type OwnServers } from '../../../contracts/egress-denied.ts';
import { parseEnv, type EnvSource } from '../../../config/env.ts';
import { ownServers } from '../../../config/own-servers.ts';

const addresses: Record<string, string[]> = {
  'postgres.internal': ['10.0.0.5', 'fd00::5'],
  'temporal.here': ['127.0.0.1'],
};
const lookup = async (name: string) => (addresses[name] ?? []).map((address) => ({ address }));
const denial = (own: Partial<OwnServers>) =>
  createDenials({ servers: [], api: [], ...own }, lookup, networkInterfaces).current();

const ownAddresses = Object.values(networkInterfaces()).flatMap((all) =>
  (all ?? []).map(({ address }) => address),
);
const SPELLINGS = [
  '127.0.0.1',
  '127.8.9.10',
  '0.0.0.0',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::7f00:1',
  ...ownAddresses,
];

test.each(['127.0.0.1', '[::1]', '0.0.0.0', 'localhost', 'temporal.here', ...ownAddresses.slice(0, 1)])(
  'our server on this machine (%s) is refused in every spelling, on its port only',
  async (host) => {
    const { refuses } = await denial({ servers: [{ host, port: 5432 }] });
    for (const address of SPELLINGS)
      expect([
        address,
        refuses('anything.test', address, 5432, false),
        refuses('anything.test', address, 5433, false),
      ]).toEqual([address, true, false]);
    expect(refuses('elsewhere.test', '93.184.216.34', 5432, false)).toBe(false);
  },
);

test('our server elsewhere is refused by its name and by the addresses of that name', async () => {
  const { refuses } = await denial({ servers: [{ host: 'postgres.internal', port: 5432 }] });
  expect([
    refuses('POSTGRES.internal.', '10.9.9.9', 5432, false),
    refuses('10.0.0.5', '10.0.0.5', 5432, false),
    refuses('alias.test', 'fd00::5', 5432, false),
  ]).toEqual([true, true, true]);
  expect([
    refuses('alias.test', '10.0.0.6', 5432, false),
    refuses('alias.test', '10.0.0.5', 80, false),
  ]).toEqual([false, false]);
});

test('EGRESS_DENY refuses networks, domains, and hosts on one port or on all', async () => {
  const { refuses } = await denial({
    servers: [
      { host: '10.0.0.0/8', port: null },
      { host: '*.corp.example', port: null },
      { host: '192.168.0.0/16', port: 9464 },
    ],
  });
  expect([
    refuses('a', '10.200.0.1', 80, false),
    refuses('x.corp.example', '93.184.216.34', 443, false),
    refuses('a', '192.168.1.1', 9464, false),
  ]).toEqual([true, true, true]);
  expect([
    refuses('a', '11.0.0.1', 80, false),
    refuses('corp.example', '93.184.216.34', 443, false),
    refuses('a', '192.168.1.1', 80, false),
  ]).toEqual([false, false, false]);
});

test('our API is refused only for the paths of its operation', async () => {
  const { refuses } = await denial({ api: [{ host: 'localhost', port: 3000 }] });
  expect([
    refuses('localhost', '127.0.0.1', 3000, true),
    refuses('localhost', '127.0.0.1', 3000, false),
  ]).toEqual([true, false]);
});

test.each([
  '/metrics',
  '/api/v1/metrics',
  '/temporal-codec/x/decode',
  '/API/V1/Temporal-Codec/x/decode',
  '/%74emporal-codec/x',
  '/%2574emporal-codec/x',
  '/base//metrics/',
  '/metrics;a=b',
  '/a%2Fmetrics',
])('%s is a path of the operation', (path) => expect(isOperationsPath(path)).toBe(true));

test.each(['/', '/a2a/0123', '/agents/metricsx', '/runs/1/events', '/%', '/%zz'])(
  '%s is not a path of the operation',
  (path) => expect(isOperationsPath(path)).toBe(false),
);

test('ownServers() finds every server that the settings name', () => {
  const read = (more: EnvSource) => {
    const parsed = parseEnv({
      ENCRYPTION_KEYS: `a:${Buffer.alloc(32).toString('base64')}`,
      TEMPORAL_ADDRESS: '[::1]:7233',
      ...more,
    });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return ownServers({
      ...parsed.env,
      DATABASE_URL: more['DATABASE_URL'] ?? '',
      TEMPORAL_ADDRESS: parsed.env.TEMPORAL_ADDRESS ?? '',
    });
  };
  const all = read({
    DATABASE_URL: 'postgres://u:p@db.internal/cadenza',
    TEMPORAL_UI_URL: 'https://temporal.example.com',
    TEMPORAL_DATABASE_URLS: 'postgres://u:p@temporal-db/temporal,postgres://u:p@temporal-db:5433/visibility',
    SMTP_HOST: 'mail.internal',
    SMTP_FROM: 'cadenza@example.com',
    WORKER_METRICS_ADDRESS: '0.0.0.0:9464',
    FILES_S3_ENDPOINT: 'http://minio:9000',
    FILES_S3_BUCKET: 'files',
    EGRESS_DENY: 'grafana, 10.0.0.0/8,[fd00::1]:80,*.corp.example:443',
    SANDBOX_ENGINE: 'http://engine.internal:2375',
    BASE_URL: 'https://cadenza.example.com',
    HOST: '0.0.0.0',
    PORT: '3001',
    OPENID_BACKCHANNEL_URL: 'http://api:3001',
  });
  expect(all.servers).toEqual(
    expect.arrayContaining([
      { host: 'db.internal', port: 5432 },
      { host: '[::1]', port: 7233 },
      { host: 'temporal.example.com', port: 443 },
      { host: 'temporal-db', port: 5432 },
      { host: 'temporal-db', port: 5433 },
      { host: 'mail.internal', port: 587 },
      { host: '0.0.0.0', port: 9464 },
      { host: 'minio', port: 9000 },
      { host: 'files.minio', port: 9000 },
      { host: 'engine.internal', port: 2375 },
      { host: 'grafana', port: null },
      { host: '10.0.0.0/8', port: null },
      { host: '[fd00::1]', port: 80 },
      { host: '*.corp.example', port: 443 },
    ]),
  );
  expect(all.api).toEqual([
    { host: 'cadenza.example.com', port: 443 },
    { host: '0.0.0.0', port: 3001 },
    { host: 'api', port: 3001 },
  ]);
  expect(read({ DATABASE_URL: 'postgres://a/x', SANDBOX_ENGINE: 'unix:///run/d' }).servers).toHaveLength(2);
  for (const [url, host, port] of [
    ['postgres:///x?host=/run/postgresql', '127.0.0.1', 5432],
    ['postgres://u@a:1/x?host=b&port=2', 'b', 2],
    ['postgres://u@[::1]:6543/x', '[::1]', 6543],
  ] as const) {
    expect(read({ DATABASE_URL: url }).servers).toContainEqual({ host, port });
  }
});
