/** Headers that no request could have are refused when they are saved, not when they are sent. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let t: TestApp;
let builder: Client;

beforeAll(async () => {
  t = await startTestApp();
  builder = await t.as('builder');
});
afterAll(() => t.close());

const URL = 'https://x.example';
const key = (more: Record<string, unknown>) => ({
  authentication_type: 'api_key',
  authentication_config: { api_key: '<KEY>', ...more },
});
const tools = [{ human: {} }, { mcp: { url: URL, headers: { Upgrade: 'h2c' } } }];

test.each([
  ['api', { configuration: { headers: { Host: 'a' } } }, ['/configuration/headers/Host']],
  ['api', { configuration: { headers: { 'content-LENGTH': 1 } } }, ['/configuration/headers/content-LENGTH']],
  ['api', { configuration: { headers: { 'x y': 'a', 'a/b': 'b' } } }, ['x y', 'a~1b'].map(inHeaders)],
  ['api', { configuration: { headers: { 'x\r\ny': 'a', 'Proxy-Authorization': 'b' } } }, 2],
  ['api', { configuration: { headers: { 'x-a': 'a\r\nHost: b', 'x-b': '\u0001', 'x-c': '→' } } }, 3],
  [
    'api',
    { configuration: { async: { mode: 'callback', header: 'Host' } } },
    ['/configuration/async/header'],
  ],
  ['a2a', { configuration: { headers: { Connection: 'close' } } }, ['/configuration/headers/Connection']],
  ['a2a', { configuration: { extensions: [URL, 'a\nb'] } }, ['/configuration/extensions/1']],
  ['audio', { configuration: { headers: { TE: 'trailers' } } }, ['/configuration/headers/TE']],
  ['llm', { configuration: { tools } }, ['/configuration/tools/1/mcp/headers/Upgrade']],
  ['llm', { configuration: { api_key: 'a\nb' } }, ['/configuration/api_key']],
  ['api', key({ name: 'Transfer-Encoding' }), ['/authentication_config/name']],
  ['api', key({ prefix: 'Token\n' }), ['/authentication_config/prefix']],
  ['api', key({ api_key: 'a\nb' }), ['/authentication_config/api_key']],
  [
    'api',
    { authentication_type: 'jwt', authentication_config: { token: 'a\nb' } },
    ['/authentication_config/token'],
  ],
])(
  'an agent of type %s with %j is refused with a pointer to each of the headers',
  async (type, more, found) => {
    const { status, body } = await builder.post('/agents', agentBody({ type, url: URL, ...more }));
    expect(status).toBe(422);
    const errors: { pointer: string; code: string }[] = body.errors;
    expect(errors.map(({ code }) => code)).toEqual(errors.map(() => 'invalid_header'));
    if (typeof found === 'number') expect(errors).toHaveLength(found);
    else expect(errors.map(({ pointer }) => pointer)).toEqual(found);
  },
);

function inHeaders(name: string): string {
  return `/configuration/headers/${name}`;
}

test.each([
  [
    'api',
    { configuration: { headers: { 'X-Own': '<OWN>', Authorization: 'Bearer <KEY>', 'x-a': '${ .a }' } } },
  ],
  ['api', { configuration: { headers: { 'x-late': 'a\n${ .a }', 'x-null': null, 'x-number': 1 } } }],
  ['api', key({ in: 'query', name: 'host' })],
  ['api', key({ in: 'cookie', name: 'host' })],
  // Containers get no headers.
  ['docker', { configuration: { image: 'x', headers: { Host: 'a' } } }],
])('an agent of type %s with %j is saved', async (type, more) => {
  expect((await builder.post('/agents', agentBody({ type, url: URL, ...more }))).status).toBe(201);
});

test('a change and a draft are refused as a new agent is, and nothing of them is kept', async () => {
  const agent = await registeredAgent(builder, { url: URL });
  const configuration = { headers: { Host: 'a' } };
  const expected = { status: 422, body: { errors: [{ pointer: '/configuration/headers/Host' }] } };
  expect(await builder.patch(`/agents/${agent.id}`, { configuration })).toMatchObject(expected);
  const versions = `/agents/${agent.id}/versions`;
  expect(await builder.post(versions, { version: '2.0.0', configuration })).toMatchObject(expected);
  expect(await builder.patch(`${versions}/1.0.0`, { configuration })).toMatchObject(expected);
  const { body } = await builder.get(`/agents/${agent.id}`);
  expect(body.configuration).toEqual(agent.configuration);
});

test('an agent from before can be read, and changed elsewhere', async () => {
  const agent = await registeredAgent(builder, { url: URL });
  const stored = JSON.stringify({ headers: { Host: 'a' } });
  for (const table of ['agent where id', 'agent_version where agent_id'])
    await t.orm.em
      .fork()
      .execute(`update ${table.replace(' ', ' set configuration = ?::jsonb ')} = ?`, [stored, agent.id]);
  const read = await builder.get(`/agents/${agent.id}`);
  expect(read).toMatchObject({ status: 200, body: { configuration: { headers: { Host: 'a' } } } });
  const changed = await builder.patch(`/agents/${agent.id}`, { description: 'new' });
  expect(changed).toMatchObject({ status: 200, body: { description: 'new' } });
  const refused = await builder.patch(`/agents/${agent.id}`, {
    configuration: { headers: { Host: 'a', 'X-New': 'b' } },
  });
  expect(refused.status).toBe(422);
});
