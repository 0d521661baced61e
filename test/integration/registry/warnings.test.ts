import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { resolveTools } from '../../../domain/conversations/tools.ts';
import { announceProcessPolicy } from '../../../domain/operations/process-policy.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let t: TestApp;
let builder: Client;

beforeAll(async () => {
  t = await startTestApp();
  builder = await t.as('builder');
});
afterAll(() => t.close());

type Warning = { pointer: string; message: string };
const pointersOf = ({ warnings }: { warnings: Warning[] }) => warnings.map(({ pointer }) => pointer);
const create = async (more: Record<string, unknown>) =>
  registeredAgent(builder, { name: `agent-${uuidv7()}`, ...more });

test.each([
  ['api', {}, ['/configuration/endpoint']],
  ['api', { url: 'https://x.example' }, []],
  ['api', { configuration: { endpoint: 'https://x.example' } }, []],
  ['llm', {}, ['/configuration/model', '/configuration/base_url']],
  ['llm', { url: 'https://x.example', configuration: { model: '' } }, ['/configuration/model']],
  ['llm', { configuration: { base_url: 'https://x.example', model: 'm' } }, []],
  ['a2a', {}, ['/configuration/card_url']],
  ['a2a', { url: 'https://x.example' }, []],
  ['workflow', {}, ['/configuration/workflow_id']],
  ['api', { configuration: { endpoint: 'x.example/run' } }, ['/configuration/endpoint']],
  ['api', { configuration: { endpoint: 'ftp://x.example' } }, ['/configuration/endpoint']],
  ['api', { configuration: { endpoint: 'https://<HOST>:{port}/{+path}{?q*}' } }, ['/configuration']],
  ['api', { configuration: { endpoint: '<ADDRESS>/run' } }, ['/configuration']],
  ['llm', { configuration: { base_url: 'localhost', model: 'm' } }, ['/configuration/base_url']],
  ['docker', {}, ['/configuration/image']],
  // No worker has announced an engine.
  ['docker', { configuration: { image: 'x', user: 'root' } }, ['/configuration/user', '/configuration']],
  ['sensor', {}, ['/configuration/broker', '/configuration/topic']],
  ['sensor', { configuration: { broker: 'x.example', topic: 't' } }, ['/configuration/broker']],
  ['sensor', { configuration: { broker: 'mqtts://x.example', topic: 't' } }, []],
  [
    'sensor',
    { configuration: { broker: '<BROKER>', mode: 'request' } },
    ['/configuration/command_topic', '/configuration/reply_topic', '/configuration'],
  ],
  ['api', { execution_type: 'framework' }, ['/configuration/base_url', '/configuration/framework']],
  [
    'api',
    { execution_type: 'framework', url: 'https://x.example', configuration: { framework: 'langgraph' } },
    ['/configuration/assistant_id'],
  ],
  ['api', { execution_type: 'edge' }, []],
  ['api', { execution_type: 'edge', configuration: { queue: 'a b' } }, ['/configuration/queue']],
  [
    'api',
    { configuration: { endpoint: 'https://x.example', async: { mode: 'wait' } } },
    ['/configuration/async/mode'],
  ],
])('an agent of type %s with %j is warned of %j', async (type, more, pointers) => {
  expect(pointersOf(await create({ type, ...more }))).toEqual(pointers);
});

test.each([
  ['api', { configuration: { endpoint: 'http://10.0.0.1/score' } }, '/configuration/endpoint'],
  ['api', { configuration: { endpoint: 'https://[fd00::1]:8443/{customer}' } }, '/configuration/endpoint'],
  ['api', { url: 'http://169.254.169.254/latest' }, '/url'],
  ['a2a', { configuration: { card_url: 'https://localhost/card.json' } }, '/configuration/card_url'],
  ['llm', { configuration: { base_url: 'http://192.168.0.7/v1', model: 'm' } }, '/configuration/base_url'],
  ['llm', { url: 'http://10.0.0.5/v1', configuration: { model: 'm' } }, '/url'],
  ['vision', { url: 'http://10.0.0.5/v1', configuration: { model: 'm' } }, '/url'],
])('an agent of type %s with %j is warned that it cannot be called there', async (type, more, pointer) => {
  const { warnings, id } = await create({ type, ...more });
  const warning = {
    pointer,
    message: expect.stringMatching(/^leads to a .*address, which calls of agents cannot .*EGRESS_ALLOW/),
  };
  expect(warnings).toEqual([warning]);
  expect((await builder.get(`/agents/${id}`)).body.warnings).toEqual([warning]);
  const listed = (await builder.get('/agents')).body as { id: string; warnings: Warning[] }[];
  expect(listed.find((agent) => agent.id === id)?.warnings).toEqual([warning]);
});

test.each(['http://8.8.8.8/score', 'http://x.example', 'http://10.0.0.{host}/score'])(
  'an agent at %s is not warned of its address',
  async (endpoint) =>
    expect((await create({ type: 'api', configuration: { endpoint } })).warnings).toEqual([]),
);

test.each(['llm', 'vision'])(
  'an agent of type %s is not warned of its url if its provider has an address of its own',
  async (type) => {
    const url = 'http://10.0.0.5/v1';
    const configuration = { provider: 'anthropic', model: 'm', api_key: 'k'.repeat(20) };
    expect((await create({ type, url, configuration })).warnings).toEqual([]);
    const elsewhere = { ...configuration, base_url: url };
    expect(pointersOf(await create({ type, configuration: elsewhere }))).toEqual(['/configuration/base_url']);
  },
);

const ENDPOINT = { url: 'https://x.example' };

test('an agent is warned of a timeout that is no duration', async () => {
  const warned = async (timeout: unknown) =>
    (await create({ type: 'api', ...ENDPOINT, configuration: { timeout } })).warnings;
  for (const fine of [500, 'PT30S', 'P1DT2H', 'P1W', 'PT0.5H', { seconds: 30 }])
    expect(await warned(fine)).toEqual([]);
  for (const wrong of ['soon', '', 'P', 'PT', 'P1Y', '30', 0, ['PT1S']])
    expect(await warned(wrong)).toEqual([
      {
        pointer: '/configuration/timeout',
        message:
          'Expected milliseconds, ISO 8601 such as PT30S, or {"seconds": 30}; invoking the agent will fault',
      },
    ]);
});

test.each([
  ['none', {}, {}, []],
  ['api_key', null, {}, ['/authentication_config/api_key']],
  ['api_key', { api_key: '' }, {}, ['/authentication_config/api_key']],
  ['api_key', { key: 'k1', in: 'body' }, {}, ['/authentication_config/in']],
  ['api_key', {}, { api_key: 'k1' }, []],
  ['jwt', {}, {}, ['/authentication_config/token']],
  ['jwt', { token: 't1' }, {}, []],
  [
    'oauth',
    {},
    {},
    [
      '/authentication_config/token_url',
      '/authentication_config/client_id',
      '/authentication_config/client_secret',
    ],
  ],
  ['oauth', { access_token: 't1' }, {}, []],
  [
    'oauth',
    { token_url: 'https://x.example/t', client_id: 'c', client_secret: 's1', client_authentication: 'none' },
    {},
    ['/authentication_config/client_authentication'],
  ],
])(
  'authentication %s with %j and configuration %j is warned of %j',
  async (authentication_type, authentication_config, configuration, pointers) => {
    const agent = await create({ ...ENDPOINT, authentication_type, authentication_config, configuration });
    expect(pointersOf(agent)).toEqual(pointers);
    const listed = (await builder.get('/agents?limit=1')).body[0];
    expect([listed.id, pointersOf(listed)]).toEqual([agent.id, pointers]);
  },
);

test('a key in a field that lists leave out causes no warning', async () => {
  const agent = await create({
    ...ENDPOINT,
    authentication_type: 'jwt',
    authentication_config: { token: 't1', note: 'x'.repeat(20_000) },
  });
  expect(pointersOf(agent)).toEqual([]);
  const listed = (await builder.get('/agents?limit=1')).body[0];
  expect([listed.id, listed.omitted, pointersOf(listed)]).toEqual([agent.id, ['authentication_config'], []]);
});

test('a misspelt key gets a suggestion', async () => {
  const { warnings } = await create({ configuration: { endpiont: 'https://x.example' } });
  expect(warnings).toMatchObject([
    { pointer: '/configuration/endpoint', message: expect.stringContaining('missing') },
    { pointer: '/configuration/endpiont', message: expect.stringContaining('did you mean "endpoint"?') },
  ]);
});

test('a missing or foreign workflow causes a warning until it exists', async () => {
  const definition = { do: [{ step: { set: { a: 1 } } }] };
  const foreign = (await (await t.as(await t.createUser())).post('/workflows', { name: 'w', definition }))
    .body.id;
  const own = (await builder.post('/workflows', { name: 'w', definition })).body.id;
  for (const workflow_id of [foreign, 'nonsense', '01a20000-0000-7000-8000-000000000000']) {
    expect(pointersOf(await create({ type: 'workflow', configuration: { workflow_id } }))).toEqual([
      '/configuration/workflow_id',
    ]);
  }
  const agent = await create({ type: 'workflow', configuration: { workflow_id: own } });
  expect(agent.warnings).toEqual([]);
  await builder.delete(`/workflows/${own}`);
  expect(pointersOf((await builder.get(`/agents/${agent.id}`)).body)).toEqual(['/configuration/workflow_id']);
});

test('equal names of one holder cause a warning, which strangers do not see', async () => {
  const fields = { name: 'pay-back', visibility: 'public', url: 'https://x.example' };
  const first = await create(fields);
  expect(first.warnings).toEqual([]);
  const second = await create(fields);
  const warning = (id: string) => ({
    pointer: '/name',
    message:
      'another agent of the same owner has this name, so calls must name either by its id: ' +
      `the other is ${id}`,
  });
  expect(second.warnings).toEqual([warning(first.id)]);
  expect((await builder.get(`/agents/${first.id}`)).body.warnings).toEqual([warning(second.id)]);
  const listed = (await builder.get('/agents?limit=2')).body as { id: string; warnings: Warning[] }[];
  expect(listed.map(({ id, warnings }) => [id, warnings])).toEqual([
    [second.id, [warning(first.id)]],
    [first.id, [warning(second.id)]],
  ]);
  const stranger = await t.as(await t.createUser());
  expect((await stranger.get(`/agents/${first.id}`)).body.warnings).toEqual([]);
  await builder.patch(`/agents/${second.id}`, { name: 'pay-later' });
  expect((await builder.get(`/agents/${first.id}`)).body.warnings).toEqual([]);
});

test('a tool whose name several have causes a warning, and a fault that names visible ones', async () => {
  const owner = await t.createUser({ roles: ['builder'] });
  const asOwner = await t.as(owner);
  const one = await registeredAgent(asOwner, { name: 'refund' });
  const other = await registeredAgent(asOwner, { name: 'refund' });
  const definition = { do: [{ step: { set: { a: 1 } } }] };
  for (let n = 0; n < 2; n += 1) await asOwner.post('/workflows', { name: 'refund-flow', definition });
  const tools = [{ agent: one.id }, { agent: 'refund' }, { workflow: 'refund-flow' }];
  const model = await registeredAgent(asOwner, {
    name: 'desk',
    type: 'llm',
    visibility: 'public',
    configuration: { base_url: 'https://x.example', model: 'm', tools },
  });
  const ids = `${other.id}, ${one.id}`;
  expect(model.warnings).toEqual([
    {
      pointer: '/configuration/tools/1/agent',
      message:
        'there are several agents of this name; invoking the agent will fault: ' +
        `name one by its id: ${ids}`,
    },
    {
      pointer: '/configuration/tools/2/workflow',
      message: expect.stringContaining('there are several workflows of this name'),
    },
  ]);
  const stranger = await t.createUser();
  const seen = (await (await t.as(stranger)).get(`/agents/${model.id}`)).body;
  expect(seen.warnings[0].message).toBe(
    'there are several agents of this name; invoking the agent will fault',
  );

  const findAs = (reader: string) =>
    resolveTools(t.orm.em.fork(), { ownerId: owner.id, reader: () => reader }, [{ agent: 'refund' }], () =>
      Promise.resolve([]),
    );
  await expect(findAs(owner.id)).rejects.toThrow(
    `The tool "refund": There are several agents "refund": name one by its id: ${ids}.`,
  );
  await expect(findAs(stranger.id)).rejects.toThrow(
    'The tool "refund": There are several agents "refund": name one by its id.',
  );
});

test('a missing secret causes a warning, also in lists, without changing the agent', async () => {
  const agent = await create({
    url: 'https://x.example',
    configuration: { headers: { 'X-Key': '<NOT_SET>' } },
    authentication_config: { api_key: '<UNBOUND:OTHER>' },
  });
  expect(pointersOf(agent)).toEqual(['/authentication_config', '/configuration']);
  const before = await builder.get(`/agents/${agent.id}`);
  await builder.put('/secrets/NOT_SET', { value: 'value' });
  const after = await builder.get(`/agents/${agent.id}`);
  expect(pointersOf(after.body)).toEqual(['/authentication_config']);
  expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
  expect(pointersOf((await builder.get('/agents?limit=1')).body[0])).toEqual(['/authentication_config']);
});

test('readers of a public agent see that something is missing, but not the names of secrets', async () => {
  const configuration = {
    endpoint: 'https://x.example',
    headers: { 'X-Key': '<FIRST_MISSING>', 'X-Other': '<SECOND_MISSING>' },
  };
  const agent = await create({
    visibility: 'public',
    configuration,
    authentication_config: { api_key: '<UNBOUND:THIRD_MISSING>' },
  });
  const stranger = await t.as(await t.createUser());
  const seen = (await stranger.get(`/agents/${agent.id}`)).body;
  expect(seen.warnings).toEqual(
    ['/authentication_config', '/configuration'].map((pointer) => ({
      pointer,
      message: expect.stringContaining('will fault'),
    })),
  );
  expect(JSON.stringify(seen.warnings)).not.toContain('MISSING');
  const listed = (await stranger.get('/agents?limit=100')).body.find(
    ({ id }: { id: string }) => id === agent.id,
  );
  expect(listed.warnings).toEqual(seen.warnings);
  for (const reader of [builder, await t.as('admin')]) {
    const messages = JSON.stringify((await reader.get(`/agents/${agent.id}`)).body.warnings);
    for (const name of ['FIRST_MISSING', 'SECOND_MISSING', 'THIRD_MISSING']) expect(messages).toContain(name);
  }
});

test('an agent in a container is warned of limits beyond those of the installation', async () => {
  await announceProcessPolicy(t.orm.em.fork(), {
    containers: {
      images: ['*'],
      pull: 'always',
      network: false,
      ports: [],
      volumes: [],
      shell_image: null,
      python_image: null,
      limits: { memory_mib: 256, cpus: 1, pids: 64 },
    },
  });
  const warningsOf = async (configuration: Record<string, unknown>): Promise<Warning[]> =>
    (await create({ type: 'docker', configuration: { image: 'x', ...configuration } })).warnings;
  expect(await warningsOf({ memory: '256m', cpus: 0.5, pids: 64 })).toEqual([]);
  expect(await warningsOf({ memory: '1g', cpus: 2, pids: 65 })).toEqual([
    {
      pointer: '/configuration/memory',
      message: 'is more than a container gets here: 256 (SANDBOX_MEMORY_MIB)',
    },
    { pointer: '/configuration/cpus', message: 'is more than a container gets here: 1 (SANDBOX_CPUS)' },
    { pointer: '/configuration/pids', message: 'is more than a container gets here: 64 (SANDBOX_PIDS)' },
  ]);
});
