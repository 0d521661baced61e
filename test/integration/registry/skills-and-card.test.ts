import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let t: TestApp;
let builder: Client;

beforeAll(async () => {
  t = await startTestApp();
  builder = await t.as('builder');
});
afterAll(() => t.close());

const create = async (more: Record<string, unknown> = {}) => registeredAgent(builder, more);

test('skills are added, changed, listed in pages and removed', async () => {
  const { id, updated_at } = await create();
  const created = await builder.post(`/agents/${id}/skills`, { name: 'one', tags: ['a'] });
  expect(created).toMatchObject({
    status: 201,
    body: { agent_id: id, name: 'one', tags: ['a'], description: null },
  });
  await builder.post(`/agents/${id}/skills`, { name: 'two' });
  await builder.post(`/agents/${id}/skills`, { name: 'three' });
  const first = await builder.get(`/agents/${id}/skills?limit=2`);
  expect(first.body.map(({ name }: { name: string }) => name)).toEqual(['one', 'two']);
  const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  expect((await builder.get(next)).body.map(({ name }: { name: string }) => name)).toEqual(['three']);

  const at = `/agents/${id}/skills/${created.body.id}`;
  expect((await builder.patch(at, { name: 'uno', tags: null, examples: ['e'] })).body).toEqual({
    ...created.body,
    name: 'uno',
    tags: null,
    examples: ['e'],
  });
  expect((await builder.patch(at, { name: null })).status).toBe(422);
  expect((await builder.patch(at, { wat: 1 })).status).toBe(422);
  expect((await builder.post(`/agents/${id}/skills`, { name: 'x'.repeat(101) })).status).toBe(422);
  expect((await builder.delete(at)).status).toBe(204);
  expect((await builder.delete(at)).status).toBe(404);
  expect((await builder.patch(at, {})).status).toBe(404);
  const agent = (await builder.get(`/agents/${id}`)).body;
  expect(agent.skills.map(({ name }: { name: string }) => name)).toEqual(['two', 'three']);
  expect(Date.parse(agent.updated_at)).toBeGreaterThan(Date.parse(updated_at));
});

test('the card of a minimal agent has exactly the required keys', async () => {
  const agent = await create({ name: 'plain' });
  const expected = {
    name: 'plain',
    description: '',
    url: `${t.url}/api/v1/a2a/${agent.id}`,
    provider: null,
    version: '1.0.0',
    documentationUrl: null,
    capabilities: { streaming: false, pushNotifications: false, stateTransitionHistory: false },
    authentication: null,
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
  for (const prefix of ['', '/api/v1']) {
    const reply = await builder.get(`${prefix}/agents/${agent.id}/.well-known/agent.json`);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(expected);
  }
});

test('the card of a full agent has every key', async () => {
  const agent = await create({
    description: 'd',
    url: 'https://elsewhere.example/a2a',
    provider_name: 'Acme',
    provider_url: 'https://acme.example',
    documentation: '# Hello',
    capabilities_streaming: true,
    capabilities_history: true,
    authentication_type: 'api_key',
    authentication_config: { api_key: 'sk-literal-value', in: 'header' },
    modalities: ['text', 'audio'],
    skills: [
      { name: 's', description: 'sd', tags: ['t'], examples: ['e'], input_modes: ['i'], output_modes: ['o'] },
      { name: 'bare' },
    ],
  });
  const { body } = await builder.get(`/agents/${agent.id}/.well-known/agent.json`);
  expect(body).toEqual({
    name: 'summariser',
    description: 'd',
    url: 'https://elsewhere.example/a2a',
    provider: { name: 'Acme', url: 'https://acme.example' },
    version: '1.0.0',
    documentationUrl: `${t.url}/docs/agents/${agent.id}`,
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: true },
    authentication: {
      type: 'api_key',
      config: { api_key: expect.stringMatching(/^<AGENT_[0-9A-F]{32}_API_KEY_1>$/), in: 'header' },
    },
    defaultInputModes: ['text', 'audio'],
    defaultOutputModes: ['text', 'audio'],
    skills: [
      {
        id: agent.skills[0].id,
        name: 's',
        description: 'sd',
        tags: ['t'],
        examples: ['e'],
        inputModes: ['i'],
        outputModes: ['o'],
      },
      {
        id: agent.skills[1].id,
        name: 'bare',
        description: '',
        tags: [],
        examples: [],
        inputModes: [],
        outputModes: [],
      },
    ],
  });
});

test('PUBLIC_AGENT_CARDS publishes the cards of public agents, and nothing else', async () => {
  const open = await startTestApp({ databaseUrl: t.databaseUrl, env: { PUBLIC_AGENT_CARDS: 'true' } });
  try {
    const shown = await create({ visibility: 'public' });
    const hidden = await create();
    expect((await open.anonymous.get(`/agents/${shown.id}/.well-known/agent.json`)).status).toBe(200);
    expect((await open.anonymous.get(`/agents/${hidden.id}/.well-known/agent.json`)).status).toBe(404);
    expect((await open.anonymous.get(`/agents/${shown.id}`)).status).toBe(401);
    expect((await t.anonymous.get(`/agents/${shown.id}/.well-known/agent.json`)).status).toBe(401);
  } finally {
    await open.close();
  }
});

test('the documentation page contains nothing that runs', async () => {
  const documentation =
    '# Title\n\n<script>alert(1)</script> <img src=x ' +
    'onerror=alert(1)>\n\n[a](javascript:alert(1)) [b](https://ok.example "t") ' +
    '![p](data:text/html,x)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\n<b>\n```';
  const agent = await create({ name: '<b>Eve</b>', documentation });
  const page = await builder.get(`/docs/agents/${agent.id}`);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  // An image of another server would tell it who reads the page.
  expect(page.headers.get('content-security-policy')).toContain("img-src 'self' data:;");
  expect(page.body).toContain('<h1>Title</h1>');
  expect(page.body).toContain('<td>2</td>');
  expect(page.body).toContain('href="https://ok.example"');
  expect(page.body).toContain('&lt;b&gt;Eve&lt;/b&gt;');
  expect(page.body).not.toMatch(/<script|<img src=x|href="javascript|src="data:text|<b>Eve/);
  const source = await builder.get(`/api/v1/docs/agents/${agent.id}`, {
    headers: { accept: 'text/markdown' },
  });
  expect(source.body).toBe(documentation);
  expect((await builder.get(`/docs/agents/${(await create()).id}`)).status).toBe(404);
  expect((await builder.get(`/docs/agents/${uuidv7()}`)).status).toBe(404);
  const stranger = await t.as(await t.createUser());
  expect((await stranger.get(`/docs/agents/${agent.id}`)).status).toBe(404);
});

test('documentation has at most 65,536 characters; longer one from before is shown as it is', async () => {
  const long = `# <b>\n${'a'.repeat(65_536)}`;
  const tooLong = [{ pointer: '/documentation', code: 'too_long' }];
  const refused = await builder.post('/agents', agentBody({ documentation: long }));
  expect([refused.status, refused.body.errors]).toMatchObject([422, tooLong]);
  const agent = await create();
  expect((await builder.patch(`/agents/${agent.id}`, { documentation: long })).body.errors).toMatchObject(
    tooLong,
  );
  await t.orm.em.fork().execute('update agent set documentation = ? where id = ?', [long, agent.id]);
  const again = await builder.patch(`/agents/${agent.id}`, { documentation: long, license: 'MIT' });
  expect([again.status, again.body.license]).toEqual([200, 'MIT']);
  const page = await builder.get(`/docs/agents/${agent.id}`);
  expect([page.status, page.body.includes('<pre># &lt;b&gt;\naaa')]).toEqual([200, true]);
});
