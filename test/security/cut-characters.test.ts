/** Texts that are cut within a character of two units are kept all the same. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test.each([10, 181])('an action of %s letters and an emoji is received', async (letters) => {
  const owner = await app.as('builder');
  const key = 'a-key-of-some-length-1234';
  await owner.put('/secrets/KEY', { value: key });
  const hook = await owner.post('/hooks', { name: `h-${letters}`, scheme: 'github', secret: 'KEY' });
  expect([hook.status, hook.body]).toEqual([201, expect.anything()]);
  const body = JSON.stringify({ action: `${'a'.repeat(letters)}\u{1f600}` });
  const reply = await app.anonymous.post(`/hooks/${hook.body.id}`, body, {
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issues',
      'x-github-delivery': `d-${letters}`,
      'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
    },
  });
  expect(reply.status).toBeLessThan(300);
});

test('the audit log keeps texts that only look like escapes', async () => {
  const owner = await app.as('builder');
  const name = String.raw`a \u0000 \ud800 b`;
  const reply = await owner.post('/workflows', { name, definition: { do: [{ a: { set: { b: 1 } } }] } });
  expect([reply.status, reply.body.name]).toEqual([201, name]);
});

test.each([10, 199])('a workflow whose name has %s letters and an emoji is created', async (letters) => {
  const owner = await app.as('builder');
  const reply = await owner.post('/workflows', {
    name: `${'a'.repeat(letters)}\u{1f600}`,
    definition: { do: [{ a: { set: { b: 1 } } }] },
  });
  expect(reply.status).toBe(201);
});
