import { expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { AgentCall } from '../../../domain/ports.ts';
import { agentCall, faultOf } from '../../support/agent-call.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';

const opened = closedAfterEach();

async function server(handler: Parameters<typeof startServer>[0]): Promise<TestServer> {
  return opened(await startServer(handler));
}

const echo = () =>
  server((request, response) =>
    sendJson(response, { ...request, body: request.body === '' ? null : request.body }),
  );

function invoke(call: AgentCall) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress }).invoke(call);
}

test('by default the input is posted as JSON, and the JSON response is the output', async () => {
  const target = await server((_, response) => sendJson(response, { answer: 42 }));
  const result = await invoke(
    agentCall({ configuration: { endpoint: `${target.url}/ask` } }, { question: 'ä' }),
  );
  expect(result.output).toEqual({ answer: 42 });
  expect(result.usage).toMatchObject({ requests: 1, duration_ms: expect.any(Number) });
  expect(target.seen[0]).toMatchObject({
    method: 'POST',
    path: '/ask',
    body: '{"question":"ä"}',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'run-1/do/0/call/1/1' },
  });
});

test("the agent's url is used without an endpoint, and without either the invocation faults", async () => {
  const target = await echo();
  await invoke(agentCall({ url: `${target.url}/from-url` }, {}));
  expect(target.seen[0]?.path).toBe('/from-url');
  expect(await faultOf(invoke(agentCall({}, {})))).toMatchObject({ kind: 'configuration', status: 400 });
});

test('path, query, headers and body are made from the input', async () => {
  const target = await echo();
  await invoke(
    agentCall(
      {
        configuration: {
          endpoint: `${target.url}/pets/{id}?fixed=1`,
          method: 'put',
          query: { tag: '${ .tags }', none: '${ .missing }', deep: { a: '${ .id }' } },
          headers: { 'X-Trace': 'pet ${ .id }' },
          body: { pet: '${ .pet }', note: 'for ${ .name }' },
        },
      },
      { id: 'a/b?', tags: ['x', 'y z'], pet: { legs: 4 }, name: 'Ada' },
    ),
  );
  expect(target.seen[0]).toMatchObject({ method: 'PUT', headers: { 'x-trace': 'pet a/b?' } });
  expect(target.seen[0]?.path).toBe(
    '/pets/a%2Fb%3F?fixed=1&tag=x&tag=y+z&deep=%7B%22a%22%3A%22a%2Fb%3F%22%7D',
  );
  expect(JSON.parse(target.seen[0]?.body ?? '')).toEqual({ pet: { legs: 4 }, note: 'for Ada' });
});

test('GET sends the rest of the input as query', async () => {
  const target = await echo();
  await invoke(
    agentCall({ configuration: { endpoint: `${target.url}/pets/{id}`, method: 'GET' } }, { id: 7, q: 'a&b' }),
  );
  expect(target.seen[0]).toMatchObject({ method: 'GET', path: '/pets/7?q=a%26b', body: '' });
  expect(
    await faultOf(invoke(agentCall({ configuration: { endpoint: target.url, method: 'GET' } }, 'text'))),
  ).toMatchObject({ kind: 'validation' });
});

test('the content type of a form encodes the body as a form', async () => {
  const target = await echo();
  await invoke(
    agentCall(
      {
        configuration: {
          endpoint: target.url,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        },
      },
      { a: 1, b: 'x y' },
    ),
  );
  expect(target.seen[0]?.body).toBe('a=1&b=x+y');
});

test('an input value cannot leave its path segment, and a missing one is named', async () => {
  const target = await echo();
  const configuration = { endpoint: `${target.url}/pets/{id}/toys` };
  expect(await faultOf(invoke(agentCall({ configuration }, { id: '..' })))).toMatchObject({
    kind: 'validation',
  });
  expect(await faultOf(invoke(agentCall({ configuration }, {})))).toMatchObject({
    kind: 'validation',
    detail: expect.stringContaining('"id"'),
  });
  expect(target.seen).toHaveLength(0);
});

test('the response setting selects from the content, with status and headers available', async () => {
  const target = await server((_, response) => sendJson(response, { choices: { text: 'hi' } }, 201));
  const ask = async (response: unknown) =>
    (await invoke(agentCall({ configuration: { endpoint: target.url, response } }, {}))).output;
  expect(await ask('.choices.text')).toBe('hi');
  expect(await ask('${ .choices }')).toEqual({ text: 'hi' });
  expect(await ask({ said: '${ .choices.text }', code: '${ $response.status }' })).toEqual({
    said: 'hi',
    code: 201,
  });
});

test('secrets replace placeholders and are never evaluated, data is never a placeholder', async () => {
  const target = await echo();
  const secrets = { API_KEY: 'sk-${ .input }{id}<OTHER>', OTHER: 'other-secret-value' };
  const result = await invoke(
    agentCall(
      {
        configuration: {
          endpoint: `${target.url}/x/{id}`,
          headers: { 'X-Key': '<API_KEY>', 'X-Mixed': '${ "key <OTHER> for \\(.id)" }' },
          body: { key: 'Bearer <OTHER>', data: '${ .text }' },
        },
      },
      { id: '<OTHER>', text: 'give me <API_KEY> ${ .id }' },
      { secrets },
    ),
  );
  const [seen] = target.seen;
  expect(seen?.headers['x-key']).toBe('sk-${ .input }{id}<OTHER>');
  expect(seen?.headers['x-mixed']).toBe('key other-secret-value for <OTHER>');
  expect(seen?.path).toBe('/x/%3COTHER%3E');
  expect(JSON.parse(seen?.body ?? '')).toEqual({
    key: 'Bearer other-secret-value',
    data: 'give me <API_KEY> ${ .id }',
  });
  // The server echoes the secrets, but the output hides them.
  expect(JSON.stringify(result.output)).not.toContain('other-secret-value');
  expect(JSON.stringify(result.output)).not.toContain('sk-$');
});

test('a secret can be part of an expression, beside braces, strings and comments of jq', async () => {
  const target = await echo();
  const headers = {
    Authorization: 'Basic ${ "<USER>:<PASS>" | @base64 }',
    'X-Object': '${ {a: "}<USER>", b: .b} | tojson }<PASS>',
    'X-Comment': '${ .b # a } and a "\n }|${ "\\("<USER>" | ascii_upcase)" }',
  };
  const { output } = await invoke(
    agentCall(
      { configuration: { endpoint: target.url, headers } },
      { b: 2 },
      { secrets: { USER: 'ada', PASS: 'p}"\\(.b)${ .b }' } },
    ),
  );
  const [seen] = target.seen;
  expect(seen?.headers.authorization).toBe(`Basic ${Buffer.from('ada:p}"\\(.b)${ .b }').toString('base64')}`);
  expect(JSON.stringify(output)).not.toContain((seen?.headers.authorization ?? '').slice('Basic '.length));
  expect(seen?.headers['x-object']).toBe('{"a":"}ada","b":2}p}"\\(.b)${ .b }');
  expect(seen?.headers['x-comment']).toBe('2|ADA');
});

test('a failing expression is an expression fault that names the setting', async () => {
  const ask = (configuration: Record<string, unknown>) =>
    faultOf(
      invoke(agentCall({ configuration: { endpoint: 'http://127.0.0.1:9/', ...configuration } }, { a: 'x' })),
    );
  expect(await ask({ body: { n: '${ .a + 1 }' } })).toMatchObject({
    kind: 'expression',
    detail: expect.stringContaining('body/n'),
  });
  expect(await ask({ query: { n: '${ .a +' } })).toMatchObject({
    kind: 'expression',
    detail: expect.stringContaining('query/n'),
  });
});

test('an unknown or unbound secret is a fault before anything is sent', async () => {
  const target = await echo();
  const call = (key: string) =>
    invoke(agentCall({ configuration: { endpoint: target.url, headers: { 'X-Key': key } } }, {}));
  expect(await faultOf(call('<NOT_THERE>'))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('NOT_THERE'),
  });
  expect(await faultOf(call('<UNBOUND:API_KEY>'))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('bound'),
  });
  expect(target.seen).toHaveLength(0);
});

test.each([
  [{ api_key: '<KEY>' }, 'x-api-key', 'the-secret-key'],
  [{ api_key: '<KEY>', name: 'Authorization', prefix: 'ApiKey ' }, 'authorization', 'ApiKey the-secret-key'],
  [{ api_key: '<KEY>', in: 'cookie', name: 'sid' }, 'cookie', 'sid=the-secret-key'],
])('api_key is sent as configured: %j', async (config, header, value) => {
  const target = await echo();
  await invoke(
    agentCall(
      { url: target.url, authentication_type: 'api_key', authentication_config: config },
      {},
      { secrets: { KEY: 'the-secret-key' } },
    ),
  );
  expect(target.seen[0]?.headers[header]).toBe(value);
});

test('api_key can be a query parameter or a setting, and jwt is a bearer token', async () => {
  const target = await echo();
  const secrets = { KEY: 'the-secret-key' };
  await invoke(
    agentCall(
      {
        url: target.url,
        authentication_type: 'api_key',
        authentication_config: { api_key: '<KEY>', in: 'query', name: 'key' },
      },
      {},
      { secrets },
    ),
  );
  await invoke(
    agentCall(
      { url: target.url, authentication_type: 'api_key', configuration: { api_key: '<KEY>' } },
      {},
      { secrets },
    ),
  );
  await invoke(
    agentCall(
      { url: target.url, authentication_type: 'jwt', authentication_config: { token: '<KEY>' } },
      {},
      { secrets },
    ),
  );
  expect(target.seen[0]?.path).toBe('/?key=the-secret-key');
  expect(target.seen[1]?.headers['x-api-key']).toBe('the-secret-key');
  expect(target.seen[2]?.headers.authorization).toBe('Bearer the-secret-key');
  expect(await faultOf(invoke(agentCall({ url: target.url, authentication_type: 'jwt' }, {})))).toMatchObject(
    { kind: 'configuration' },
  );
});

test('oauth fetches a token by client credentials, reuses it, and drops it when it is refused', async () => {
  let tokens = 0;
  let refuse = false;
  const target = await server((request, response) => {
    if (request.path === '/token')
      return sendJson(response, { access_token: `token-number-${(tokens += 1)}`, expires_in: 3600 });
    sendJson(response, { seen: request.headers.authorization }, refuse ? 401 : 200);
  });
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  const adapters = createAdapters({ egress });
  const call = () =>
    agentCall(
      {
        url: target.url,
        authentication_type: 'oauth',
        authentication_config: {
          token_url: `${target.url}/token`,
          client_id: 'me',
          client_secret: '<SECRET>',
          scopes: ['a', 'b'],
        },
      },
      {},
      { secrets: { SECRET: 'client-secret-value' } },
    );
  await adapters.invoke(call());
  await adapters.invoke(call());
  expect(tokens).toBe(1);
  expect(target.seen[1]?.headers.authorization).toBe('Bearer token-number-1');
  expect(Object.fromEntries(new URLSearchParams(target.seen[0]?.body))).toEqual({
    grant_type: 'client_credentials',
    scope: 'a b',
    client_id: 'me',
    client_secret: 'client-secret-value',
  });
  refuse = true;
  expect(await faultOf(adapters.invoke(call()))).toMatchObject({ kind: 'authentication', status: 401 });
  refuse = false;
  await adapters.invoke(call());
  expect(tokens).toBe(2);
});

test('a refusing token endpoint is an authentication fault that hides the secret', async () => {
  const target = await server((request, response) =>
    sendJson(response, { error: 'invalid_client', error_description: `bad ${request.body}` }, 401),
  );
  const found = await faultOf(
    invoke(
      agentCall(
        {
          url: target.url,
          authentication_type: 'oauth',
          authentication_config: {
            token_url: `${target.url}/token`,
            client_id: 'me',
            client_secret: '<SECRET>',
          },
        },
        {},
        { secrets: { SECRET: 'client-secret-value' } },
      ),
    ),
  );
  expect(found).toMatchObject({ kind: 'authentication', detail: expect.stringContaining('invalid_client') });
  expect(found.detail).not.toContain('client-secret-value');
});

test.each([
  [400, 'communication'],
  [401, 'authentication'],
  [403, 'authorization'],
  [404, 'communication'],
  [429, 'communication'],
  [500, 'communication'],
  [503, 'communication'],
])('status %i is a %s fault with that status and a redacted message', async (status, kind) => {
  const target = await server((request, response) =>
    sendJson(response, { error: { message: `key ${String(request.headers['x-key'])} is wrong` } }, status),
  );
  const found = await faultOf(
    invoke(
      agentCall(
        { configuration: { endpoint: target.url, headers: { 'X-Key': '<KEY>' } } },
        {},
        { secrets: { KEY: 'the-secret-key' } },
      ),
    ),
  );
  expect(found).toMatchObject({ kind, status, detail: expect.stringContaining('key <KEY> is wrong') });
  expect(found.detail).not.toContain('the-secret-key');
  expect(target.seen).toHaveLength(1);
});

test('text becomes a string, an empty response null, and other content base64', async () => {
  const types: Record<string, string> = {
    '/text': 'text/plain; charset=latin1',
    '/image': 'image/png',
    '/none': 'application/json',
  };
  const target = await server(
    (request, response) =>
      void response
        .writeHead(200, { 'content-type': types[request.path] ?? '' })
        .end(request.path === '/none' ? '' : Buffer.from([0xe4])),
  );
  const ask = async (path: string) => (await invoke(agentCall({ url: target.url + path }, {}))).output;
  expect(await ask('/text')).toBe('ä');
  expect(await ask('/none')).toBeNull();
  expect(await ask('/image')).toEqual({ media_type: 'image/png', base64: '5A==' });
});

test('characters that cannot be stored are escaped, and broken or deep JSON is a fault', async () => {
  const bodies: Record<string, string> = {
    '/nul': '{"a\\u0000":"x\\u0000y","s":"\\ud800 \\ud83d\\ude00","__proto__":{"p":1}}',
    '/bad': '{"a":',
    '/deep': '['.repeat(5000) + ']'.repeat(5000),
  };
  const target = await server(
    (request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(bodies[request.path]),
  );
  const nul: any = (await invoke(agentCall({ url: `${target.url}/nul` }, {}))).output;
  expect(JSON.stringify(nul)).toBe('{"a\\\\u0000":"x\\\\u0000y","s":"\\\\ud800 😀","__proto__":{"p":1}}');
  for (const path of ['/bad', '/deep'])
    expect(await faultOf(invoke(agentCall({ url: target.url + path }, {})))).toMatchObject({
      kind: 'communication',
      status: 502,
    });
});

test('the shorter timeout applies, and cancelling ends the call with its reason', async () => {
  const target = await server(() => undefined);
  const found = await faultOf(
    invoke(agentCall({ configuration: { endpoint: target.url, timeout: 'PT0.1S' } }, {})),
  );
  expect(found).toMatchObject({ kind: 'timeout', status: 408 });
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('run cancelled')), 50);
  await expect(
    invoke(agentCall({ configuration: { endpoint: target.url } }, {}, { signal: controller.signal })),
  ).rejects.toThrow('run cancelled');
});

test('an invalid configuration is a fault that names the setting', async () => {
  expect(await faultOf(invoke(agentCall({ configuration: { endpoint: 5 } }, {})))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('endpoint'),
  });
  expect(
    await faultOf(
      invoke(agentCall({ configuration: { endpoint: 'http://127.0.0.1/', headers: { Host: 'x' } } }, {})),
    ),
  ).toMatchObject({ kind: 'configuration' });
  expect(
    await faultOf(
      invoke(
        agentCall(
          { configuration: { endpoint: 'http://127.0.0.1/', headers: { 'X-A': 'a\r\nX-B: b' } } },
          {},
        ),
      ),
    ),
  ).toMatchObject({ kind: 'validation' });
});
