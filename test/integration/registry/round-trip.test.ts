import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { namesCredential } from '../../../contracts/credentials.ts';
import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let t: TestApp;
let builder: Client;

beforeAll(async () => {
  t = await startTestApp();
  builder = await t.as('builder');
});
afterAll(() => t.close());

const text = fc
  .string({ unit: 'binary', maxLength: 20 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'));
const key = fc
  .oneof(text, fc.constantFrom('__proto__', 'constructor', 'toString', 'endpoint', 'body', 'a/b~c', '$ref'))
  .filter((value) => !namesCredential(value));
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
    text,
    fc.array(tie('json'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(key, tie('json')), { maxLength: 5 })
    .map((entries) => Object.fromEntries(entries)),
}));
const object = fc.array(fc.tuple(key, json), { maxLength: 5 }).map((entries) => Object.fromEntries(entries));

test('any configuration comes back unchanged, including the order of its keys', async () => {
  await fc.assert(
    fc.asyncProperty(object, async (configuration) => {
      const created = await builder.post('/agents', agentBody({ configuration }));
      expect(created.status).toBe(201);
      const read = await builder.get(`/agents/${created.body.id}`);
      for (const record of [created.body, read.body]) {
        expect(JSON.stringify(record.configuration)).toBe(JSON.stringify(configuration));
        expect(JSON.stringify(record.versions[0].configuration)).toBe(JSON.stringify(configuration));
      }
    }),
    { numRuns: 40, seed: 20260801 },
  );
});

test('no value of any field is lost or gives a 5xx', async () => {
  const field = fc.constantFrom(
    'name',
    'description',
    'type',
    'version',
    'visibility',
    'status',
    'documentation',
    'input_schema',
    'output_schema',
    'modalities',
    'skills',
    'url',
    'authentication_config',
    'tags',
    'capabilities_push',
    'license',
  );
  await fc.assert(
    fc.asyncProperty(field, json, async (name, value) => {
      const created = await builder.post('/agents', agentBody({ [name]: value }));
      expect([201, 422]).toContain(created.status);
      if (created.status === 422) expect(created.body.errors[0].pointer.startsWith(`/${name}`)).toBe(true);
      const patched = await builder.patch(`/agents/${(await registeredAgent(builder)).id}`, {
        [name]: value,
      });
      expect([200, 409, 422]).toContain(patched.status);
    }),
    { numRuns: 40, seed: 20260801 },
  );
});
