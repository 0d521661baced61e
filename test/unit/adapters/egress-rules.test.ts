import { expect, test } from '@jest/globals';
import { createDenials } from '../../../contracts/egress-denied.ts';
import {
  literalRefusal,
  parseEgressRules,
  type CallKind,
  type EgressSettings,
} from '../../../contracts/egress-rules.ts';

const lookup = async () => [{ address: '127.0.0.1' }];
/** PostgreSQL and the API of an installation. */
const installationDenials = () =>
  createDenials(
    {
      servers: [
        { host: 'db.internal', port: 5432 },
        { host: '*.corp.example', port: null },
      ],
      api: [{ host: '127.0.0.1', port: 3000 }],
    },
    lookup,
    () => ({}),
  ).current();

async function refusalOf(url: string, settings: EgressSettings, kind: CallKind = 'deliveries') {
  return literalRefusal(parseEgressRules(settings), await installationDenials(), new URL(url), kind);
}

const REFUSED = [
  '10.0.0.1',
  '172.16.5.4',
  '172.31.255.255',
  '192.168.1.1',
  '127.0.0.1',
  '127.8.9.10',
  '0.0.0.0',
  '169.254.169.254',
  '100.64.0.1',
  '100.100.100.200',
  '224.0.0.1',
  '255.255.255.255',
  '192.0.0.192',
  '198.18.0.1',
  '240.0.0.1',
  '168.63.129.16',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::7f00:1',
  'fe80::1',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '2001:db8::1',
];

test.each(REFUSED)('%s is refused by default', (address) => {
  expect(parseEgressRules({}).refusal('example.test', address)).not.toBeNull();
});

test.each(['93.184.216.34', '1.1.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])(
  '%s is public',
  (address) => {
    expect(parseEgressRules({}).refusal('example.test', address)).toBeNull();
  },
);

test('EGRESS_ALLOW permits networks, addresses, names and domains, and nothing else', () => {
  const rules = parseEgressRules({
    allow: ['127.0.0.0/8', '::1', '10.1.2.3', 'Files.Internal', '*.corp.example'],
  });
  expect(rules.refusal('anything', '127.0.0.1')).toBeNull();
  expect(rules.refusal('anything', '::1')).toBeNull();
  expect(rules.refusal('anything', '::ffff:127.0.0.1')).toBeNull();
  expect(rules.refusal('anything', '10.1.2.3')).toBeNull();
  expect(rules.refusal('anything', '10.1.2.4')).not.toBeNull();
  expect(rules.refusal('files.internal', '10.9.9.9')).toBeNull();
  expect(rules.refusal('files.internal.', '10.9.9.9')).toBeNull();
  expect(rules.refusal('a.corp.example', '10.9.9.9')).toBeNull();
  expect(rules.refusal('corp.example', '10.9.9.9')).not.toBeNull();
  expect(rules.refusal('evilcorp.example', '10.9.9.9')).not.toBeNull();
});

test('a host map entry applies to a whole origin only', () => {
  const rules = parseEgressRules({
    hostMap: [
      { from: 'https://api.example.com', to: 'http://127.0.0.1:9000' },
      { from: 'http://a.test:81', to: 'http://localhost:1' },
    ],
  });
  expect(rules.mapped('https://api.example.com')).toBe('http://127.0.0.1:9000');
  expect(rules.mapped('http://api.example.com')).toBeNull();
  expect(rules.mapped('http://a.test:81')).toBe('http://localhost:1');
});

test.each([{ allow: ['10.0.0.0/99'] }, { allow: ['a b'] }, { allow: ['*'] }])(
  'the error for a faulty setting names the setting: %j',
  (settings) => expect(() => parseEgressRules(settings)).toThrow(/^EGRESS_/),
);

test.each([
  ['https://localhost', []],
  ['https://a.localhost:8443', []],
  ['https://[::ffff:10.0.0.1]', []],
  ['http://93.184.215.14', []],
  ['https://10.0.0.1', ['10.0.0.2']],
  ['http://any.example', []],
  ['http://any.example', ['other.example', '*.any.example']],
])('a delivery to %s is refused while %j is allowed', async (url, allow) => {
  expect(await refusalOf(url, { allow })).toContain('EGRESS_ALLOW');
});

test.each([
  ['https://93.184.215.14', []],
  ['http://localhost', ['127.0.0.1']],
  ['http://10.0.0.1', ['10.0.0.0/8']],
  ['https://any.example', []],
  ['http://any.example', ['any.example']],
  ['http://a.any.example.', ['*.any.example']],
  // Its address may be in the network.
  ['http://any.example', ['10.0.0.0/8']],
])('a delivery to %s is accepted while %j is allowed', async (url, allow) => {
  expect(await refusalOf(url, { allow })).toBeNull();
});

test.each([
  ['http://93.184.215.14', null],
  ['http://any.example', null],
  ['http://10.0.0.1', 'leads to a private address, which calls of agents cannot reach'],
])('a call of an agent at %s is refused as %j, with or without TLS', async (url, refusal) => {
  const found = await refusalOf(url, {}, 'calls of agents');
  expect(found).toEqual(refusal === null ? null : expect.stringContaining(refusal));
});

test('the target of a host map entry is trusted', async () => {
  const hostMap = [{ from: 'https://10.0.0.1', to: 'http://127.0.0.1:9000' }];
  expect(await refusalOf('https://10.0.0.1/x', { hostMap })).toBeNull();
});

test.each([
  'http://127.0.0.1:5432',
  'http://localhost:5432/x',
  'https://[::1]:5432',
  'http://db.internal:5432',
  'https://a.corp.example',
  'http://127.0.0.1:3000/metrics',
  'https://mapped.example/x',
])('a delivery to %s is refused whatever the settings allow: it is our own server', async (url) => {
  const settings = {
    allow: ['127.0.0.0/8', '::1', 'db.internal', '*.corp.example'],
    hostMap: [{ from: 'https://mapped.example', to: 'http://127.0.0.1:5432' }],
  };
  expect(await refusalOf(url, settings)).toContain('server of this installation');
});

test.each([
  'http://127.0.0.1:3000/a2a/1',
  'http://127.0.0.1:5433',
  'http://db.internal:80',
  'https://corp.example',
])('a delivery to %s is accepted: it is not one of our own servers', async (url) => {
  expect(await refusalOf(url, { allow: ['127.0.0.1', 'db.internal'] })).toBeNull();
});
