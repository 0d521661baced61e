import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { pinAgent } from '../../../domain/registry/pin.ts';
import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';

let t: TestApp;
let owner: TestUser;
let builder: Client;

beforeAll(async () => {
  t = await startTestApp();
  owner = await t.createUser();
  builder = await t.as(owner);
});
afterAll(() => t.close());

const create = async (more: Record<string, unknown> = {}) => registeredAgent(builder, more);
const statuses = async (id: string) =>
  Object.fromEntries(
    (await builder.get(`/agents/${id}/versions`)).body.map((each: { version: string; status: string }) => [
      each.version,
      each.status,
    ]),
  );

test('a version goes from draft to published to deprecated, and no other way', async () => {
  const { id } = await create();
  const at = `/agents/${id}/versions/1.0.0`;
  expect((await builder.post(`${at}/deprecate`)).status).toBe(409);
  expect((await builder.post(`${at}/publish`)).body).toMatchObject({ version: '1.0.0', status: 'published' });
  expect((await builder.post(`${at}/publish`, {})).status).toBe(409);
  expect((await builder.post(`${at}/deprecate`, {})).body.status).toBe('deprecated');
  expect((await builder.post(`${at}/deprecate`, {})).status).toBe(409);
  expect((await builder.post(`${at}/publish`, {})).status).toBe(409);
  expect((await builder.post(`/agents/${id}/versions/9.9.9/publish`, {})).status).toBe(404);
});

test('a change of a published version is refused before any other check', async () => {
  const { id } = await create();
  await builder.post(`/agents/${id}/versions/1.0.0/publish`);
  expect((await builder.patch(`/agents/${id}/versions/1.0.0`, { wat: 1, configuration: 5 })).status).toBe(
    409,
  );
  expect((await builder.patch(`/agents/${id}/versions/1.0.0`, {})).status).toBe(409);
  expect(
    (
      await builder.patch(`/agents/${id}/versions/1.0.0`, undefined, {
        body: '{',
        headers: { 'content-type': 'application/json' },
      })
    ).status,
  ).toBe(409);
});

test('a patch of the agent edits its draft; after publishing it needs a higher version', async () => {
  const { id } = await create({ configuration: { endpoint: 'https://x.example' } });
  expect(
    (await builder.patch(`/agents/${id}`, { configuration: { method: 'GET' } })).body.versions,
  ).toMatchObject([{ version: '1.0.0', configuration: { endpoint: 'https://x.example', method: 'GET' } }]);
  await builder.post(`/agents/${id}/versions/1.0.0/publish`);
  const refused = await builder.patch(`/agents/${id}`, { configuration: { method: 'PUT' } });
  expect(refused).toMatchObject({ status: 409, body: { code: 'version_immutable' } });
  expect((await builder.patch(`/agents/${id}`, { output_schema: { type: 'object' } })).status).toBe(409);
  expect(
    (await builder.patch(`/agents/${id}`, { configuration: { method: 'PUT' }, version: '1.0.0' })).status,
  ).toBe(409);
  expect(
    (await builder.patch(`/agents/${id}`, { configuration: { method: 'PUT' }, version: '0.9.0' })).body.code,
  ).toBe('version_not_higher');
  // Neither an unchanged configuration nor a change of other fields needs a new version.
  expect(
    (await builder.patch(`/agents/${id}`, { configuration: { method: 'GET' }, description: 'x' })).status,
  ).toBe(200);
  const raised = await builder.patch(`/agents/${id}`, { configuration: { method: 'PUT' }, version: '1.1.0' });
  expect(raised.body).toMatchObject({ version: '1.1.0', configuration: { method: 'PUT' } });
  expect(await statuses(id)).toEqual({ '1.0.0': 'published', '1.1.0': 'draft' });
  expect((await builder.get(`/agents/${id}/versions/1.0.0`)).body.configuration.method).toBe('GET');
  // An existing version becomes the current one again, with its own configuration.
  expect((await builder.patch(`/agents/${id}`, { version: '1.0.0' })).body).toMatchObject({
    version: '1.0.0',
    configuration: { method: 'GET' },
  });
});

test('a version is drafted beside the current one, and becomes current when it is published', async () => {
  const { id } = await create({
    configuration: { endpoint: 'https://x.example' },
    input_schema: { type: 'object' },
  });
  const created = await builder.post(`/agents/${id}/versions`, {
    version: '2.0.0',
    configuration: { endpoint: 'https://y.example' },
    changelog: 'new',
  });
  expect(created).toMatchObject({
    status: 201,
    body: {
      version: '2.0.0',
      status: 'draft',
      configuration: { endpoint: 'https://y.example' },
      input_schema: { type: 'object' },
      output_schema: {},
      changelog: 'new',
      created_by: owner.id,
    },
  });
  expect(created.headers.get('location')).toBe(`${t.url}/agents/${id}/versions/2.0.0`);
  expect((await builder.get(`/agents/${id}`)).body).toMatchObject({
    version: '1.0.0',
    configuration: { endpoint: 'https://x.example' },
  });
  expect((await builder.post(`/agents/${id}/versions`, { version: '2.0.0' })).status).toBe(409);
  expect((await builder.post(`/agents/${id}/versions`, { version: 'two' })).status).toBe(422);
  expect(
    (await builder.post(`/agents/${id}/versions`, { version: '3.0.0', input_schema: { type: 'x' } })).status,
  ).toBe(422);
  const patched = await builder.patch(`/agents/${id}/versions/2.0.0`, {
    configuration: { method: 'GET' },
    changelog: null,
  });
  expect(patched.body).toMatchObject({
    configuration: { endpoint: 'https://y.example', method: 'GET' },
    changelog: null,
  });
  expect((await builder.patch(`/agents/${id}/versions/2.0.0`, { version: '5.0.0' })).status).toBe(200);
  expect((await builder.patch(`/agents/${id}/versions/2.0.0`, { wat: 1 })).status).toBe(422);
  await builder.post(`/agents/${id}/versions/2.0.0/publish`, {});
  expect((await builder.get(`/agents/${id}`)).body).toMatchObject({
    version: '2.0.0',
    configuration: { endpoint: 'https://y.example', method: 'GET' },
  });
  // A lower version is published without becoming current.
  await builder.post(`/agents/${id}/versions/1.0.0/publish`, {});
  expect((await builder.get(`/agents/${id}`)).body.version).toBe('2.0.0');
});

test('a change of the current draft shows on the agent, also under a name with build metadata', async () => {
  const { id } = await create({ version: '1.0.0-beta.1+build.5' });
  const at = `/agents/${id}/versions/${encodeURIComponent('1.0.0-beta.1+build.5')}`;
  expect((await builder.patch(at, { configuration: { endpoint: 'https://z.example' } })).status).toBe(200);
  expect((await builder.get(`/agents/${id}`)).body.configuration).toEqual({ endpoint: 'https://z.example' });
});

test('versions are listed in pages', async () => {
  const { id } = await create();
  for (const version of ['1.1.0', '1.2.0']) await builder.post(`/agents/${id}/versions`, { version });
  const first = await builder.get(`/agents/${id}/versions?limit=2`);
  expect(first.body.map(({ version }: { version: string }) => version)).toEqual(['1.2.0', '1.1.0']);
  const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  expect((await builder.get(next)).body.map(({ version }: { version: string }) => version)).toEqual([
    '1.0.0',
  ]);
  expect((await builder.get(`/agents/${id}/versions?wat=1`)).status).toBe(400);
});

test('a run pins an agent by id or name, to the served version, an exact one or a range', async () => {
  const { id } = await create({
    name: 'pinned',
    url: 'https://p.example',
    configuration: { endpoint: 'https://one.example' },
    authentication_type: 'none',
  });
  await builder.post(`/agents/${id}/versions/1.0.0/publish`);
  await builder.patch(`/agents/${id}`, {
    version: '1.2.0',
    configuration: { endpoint: 'https://two.example' },
  });
  await builder.post(`/agents/${id}/versions/1.2.0/publish`);
  await builder.patch(`/agents/${id}`, { version: '1.3.0' });
  const em = t.orm.em.fork();
  const pin = (version?: string, agent = 'pinned', who = owner.id) =>
    pinAgent(em.fork(), who, { agent, version });
  expect(await pin()).toMatchObject({
    found: true,
    status: 'active',
    version_status: 'published',
    owner_id: owner.id,
    pinned: { id, version: '1.2.0', url: 'https://p.example', type: 'api', authentication_type: 'none' },
  });
  expect(await pin('1.0.0', id)).toMatchObject({
    pinned: { version: '1.0.0', configuration: { endpoint: 'https://one.example' }, input_schema: {} },
  });
  expect(await pin('^1.0')).toMatchObject({ pinned: { version: '1.2.0' }, version_status: 'published' });
  expect(await pin('>=1.3')).toMatchObject({ found: false, reason: 'unknown_version' });
  expect(await pin('1.3.0')).toMatchObject({ pinned: { version: '1.3.0' }, version_status: 'draft' });
  expect(await pin('^2')).toMatchObject({ found: false, reason: 'unknown_version' });
  expect(await pin(undefined, 'nobody')).toMatchObject({ found: false, reason: 'unknown_agent' });

  const other = await t.createUser();
  expect(await pin(undefined, id, other.id)).toMatchObject({ found: false, reason: 'unknown_agent' });
  await builder.patch(`/agents/${id}`, { visibility: 'public' });
  expect(await pin(undefined, 'pinned', other.id)).toMatchObject({ found: true, owner_id: owner.id });
  const second = await t.as(await t.createUser());
  await second.post('/agents', agentBody({ name: 'pinned', visibility: 'public' }));
  expect(await pin(undefined, 'pinned', other.id)).toMatchObject({ found: false, reason: 'ambiguous_agent' });
  expect(await pin(undefined, 'pinned')).toMatchObject({ pinned: { id } });
});
