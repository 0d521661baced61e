/** Whoever stops sharing a source of events is heard no more, whatever its listeners and senders say. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { matchEvents } from '../../domain/events/matcher.ts';
import { runLimits } from '../../domain/runs/limits.ts';
import { noTemporal, startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';

let app: TestApp;
let listener: TestUser;
let sender: TestUser;
let asListener: Client;
let asSender: Client;

beforeAll(async () => {
  app = await startTestApp();
  [listener, sender] = [
    await app.createUser({ roles: ['builder'] }),
    await app.createUser({ roles: ['builder'] }),
  ];
  [asListener, asSender] = [await app.as(listener), await app.as(sender)];
});
afterAll(() => app.close());

let count = 0;
/** Sends an event, and matches it as a worker does. */
async function tell(source: string, type = 'order'): Promise<void> {
  const event = { specversion: '1.0', id: `e${++count}`, source, type, data: { count } };
  const headers = { 'content-type': 'application/cloudevents+json' };
  expect((await asSender.post('/events', event, { headers })).status).toBe(202);
  const logger = { warn: (details: object) => expect(details).toBeUndefined() };
  await matchEvents({ orm: app.orm, temporal: noTemporal, limits: runLimits(app.env), logger });
}

test.each([
  ['by a change', async (id: string) => asSender.patch(`/event-sources/${id}`, { shared_with: [] }), 200],
  ['with the source', async (id: string) => asSender.delete(`/event-sources/${id}`), 204],
])('sharing that was withdrawn %s starts no run any more', async (how, withdraw, status) => {
  const source = `urn:shared-${status}`;
  const shared = (await asSender.post('/event-sources', { source, shared_with: [listener.id] })).body;
  const definition = {
    schedule: { on: { one: { with: { type: 'order', source } } } },
    do: [{ keep: { set: { a: 1 } } }],
  };
  const created = (await asListener.post('/workflows', { name: how, definition })).body;
  expect(created).toMatchObject({ runnable: true, problems: [] });
  const { id: workflow } = created;
  const path = `/workflows/${workflow}/event-senders`;
  expect((await asListener.patch(path, { users: [sender.id] })).status).toBe(200);
  const runs = async (): Promise<number> =>
    (await asListener.get(`/runs?workflow_id=${workflow}`)).body.length;
  await tell(source);
  expect(await runs()).toBe(1);
  expect((await withdraw(shared.id)).status).toBe(status);
  await tell(source);
  // It stays on the list, which gives nothing, until somebody changes the list.
  expect((await asListener.get(path)).body).toEqual({ users: [sender.id] });
  expect(await runs()).toBe(1);
  const others = (await asSender.post('/event-sources', { source: `${source}2`, shared_with: [] })).body;
  await tell(`${source}2`);
  expect(await runs()).toBe(1);
  expect((await asListener.patch(path, { users: [sender.id] })).status).toBe(422);
  // Events of the time without sharing do not come when it is shared again.
  await asSender.patch(`/event-sources/${others.id}`, { source: `${source}3` });
  const again = { source, shared_with: [listener.id] };
  const renewed =
    status === 204
      ? await asSender.post('/event-sources', again)
      : await asSender.patch(`/event-sources/${shared.id}`, again);
  expect(renewed.status).toBeLessThan(300);
  await tell('urn:else');
  expect(await runs()).toBe(1);
  await tell(source);
  expect(await runs()).toBe(2);
  await asSender.delete(`/event-sources/${renewed.body.id}`);
});
