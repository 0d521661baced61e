import { expect, test } from '@jest/globals';
import { parseEgressRules } from '../../../adapters/egress-rules.ts';

const REFUSED = [
  '10.0.0.1', '172.16.5.4', '172.31.255.255', '192.168.1.1', '127.0.0.1', '127.8.9.10', '0.0.0.0', '169.254.169.254', '100.64.0.1', '100.100.100.200',
  '224.0.0.1', '255.255.255.255', '192.0.0.192', '198.18.0.1', '240.0.0.1', '168.63.129.16',
  '::', '::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::7f00:1', 'fe80::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001:db8::1',
];

test.each(REFUSED)('%s is refused by default', (address) => {
  expect(parseEgressRules({}).refusal('example.test', address)).not.toBeNull();
});

test.each(['93.184.216.34', '1.1.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])('%s is public', (address) => {
  expect(parseEgressRules({}).refusal('example.test', address)).toBeNull();
});

test('networks, addresses, names and domains can be allowed, and nothing beside them', () => {
  const rules = parseEgressRules({ allow: ['127.0.0.0/8', '::1', '10.1.2.3', 'Files.Internal', '*.corp.example'] });
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

test('hosts are mapped by their whole origin', () => {
  const rules = parseEgressRules({ hostMap: [{ from: 'https://api.example.com', to: 'http://127.0.0.1:9000' }, { from: 'http://a.test:81', to: 'http://localhost:1' }] });
  expect(rules.mapped('https://api.example.com')).toBe('http://127.0.0.1:9000');
  expect(rules.mapped('http://api.example.com')).toBeNull();
  expect(rules.mapped('http://a.test:81')).toBe('http://localhost:1');
});

test.each([{ allow: ['10.0.0.0/99'] }, { allow: ['a b'] }, { allow: ['*'] }])(
  'a faulty setting is named: %j',
  (settings) => expect(() => parseEgressRules(settings)).toThrow(/^EGRESS_/),
);
