/** Every time that a client sends: what no clock shows is refused by its name, and never fails inside. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { utcTime } from '../../../contracts/instant.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
});
afterAll(() => app.close());

const IMPOSSIBLE = [
  '10000-01-01T00:00:00Z',
  '+010000-01-01T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '2026-01-01T24:00:00Z',
  '2016-12-31T23:59:60Z',
  '2026-02-30T00:00:00Z',
  '2026-01-01T00:00:00+24:00',
  '2026-01-01T00:00:00',
  '2026-01-01',
  'infinity',
  '-infinity',
  'now',
  'epoch',
  '1767225600',
  '',
];
const POSSIBLE = [
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.9999999Z',
  '2026-01-01T00:00:00+23:59',
  '2026-01-01T00:00:00-23:59',
  `2026-01-01T00:00:00.${'1'.repeat(500)}Z`,
];

/** Names of the parameters of a query that are times, by the document. */
async function timeParameters(): Promise<[path: string, name: string][]> {
  const { body } = await app.anonymous.get('/openapi.json');
  const found: [string, string][] = [];
  for (const [path, { get }] of Object.entries<Record<string, any>>(body.paths))
    for (const { name, in: place, schema } of get?.parameters ?? [])
      if (place === 'query' && isTime(schema)) found.push([path, name]);
  return found;
}

const isTime = (schema: unknown): boolean =>
  isRecord(schema) && (schema['$ref'] === '#/components/schemas/Instant' || schema['format'] === 'date-time');

test('a parameter of a query', async () => {
  const parameters = await timeParameters();
  expect(parameters).toEqual(
    expect.arrayContaining([
      ['/runs', 'created_after'],
      ['/runs', 'created_before'],
      ['/hitl/tasks', 'due_before'],
    ]),
  );
  for (const [path, name] of parameters) {
    for (const time of IMPOSSIBLE) {
      const { status, body } = await admin.get(`${path}?${name}=${encodeURIComponent(time)}`);
      expect([path, time, status, body.errors?.[0]?.pointer]).toEqual([path, time, 400, name]);
      expect(body.detail).toContain(name);
    }
    for (const time of POSSIBLE) {
      const { status, body } = await admin.get(`${path}?${name}=${encodeURIComponent(time)}`);
      // What is counted by hours has a longest time.
      const isTooLong = status === 400 && body.errors[0].code === 'out_of_range';
      expect([path, time, isTooLong ? 200 : status]).toEqual([path, time, 200]);
    }
  }
});

test('a field of a body', async () => {
  const fields: [path: string, name: string, body: Record<string, unknown>][] = [
    ['/users/me/clients', 'expires_at', { name: 'robot' }],
    ['/events', 'time', { specversion: '1.0', id: '1', source: '/test', type: 'test.odd' }],
  ];
  for (const [path, name, more] of fields)
    for (const time of IMPOSSIBLE) {
      const headers = path === '/events' ? { 'content-type': 'application/cloudevents+json' } : {};
      const { status, body } = await admin.post(path, { ...more, [name]: time }, { headers });
      expect([path, time, status, body.errors?.[0]?.pointer]).toEqual([path, time, 422, `/${name}`]);
    }
  for (const [index, time] of POSSIBLE.entries()) {
    const event = { specversion: '1.0', id: `possible-${index}`, source: '/test', type: 'test.odd', time };
    const headers = { 'content-type': 'application/cloudevents+json' };
    expect([time, (await admin.post('/events', event, { headers })).status]).toEqual([time, 202]);
  }
});

test('is understood to the microsecond, in any zone', () => {
  expect(utcTime('2026-01-01T00:30:00.1234567+01:00')).toBe('2025-12-31T23:30:00.123456Z');
  expect(utcTime('1969-12-31T23:59:59.9999999Z')).toBe('1969-12-31T23:59:59.999999Z');
});
