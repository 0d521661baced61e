/** Paths, headers and bodies that try to reach beyond their endpoint, or to keep it busy for ever. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentBody, registeredAgent } from '../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../support/app.ts';

let app: TestApp;
let viewer: Client;
let builder: Client;

beforeAll(async () => {
  app = await startTestApp();
  viewer = await app.as('viewer');
  builder = await app.as('builder');
});
afterAll(() => app.close());

/** Sends the path as written; `fetch` would normalise it. @returns status and text of the response. */
async function raw(request: string): Promise<{ status: number; text: string }> {
  const { port } = new URL(app.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(request);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text };
}

async function rawGet(path: string, headers: string[] = []): Promise<{ status: number; text: string }> {
  const { token } = await app.user('viewer');
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Connection: close',
    ...headers,
  ];
  return raw(`${lines.join('\r\n')}\r\n\r\n`);
}

test('no spelling of a path bypasses the check of role or owner', async () => {
  const hidden = (await registeredAgent(builder)).id;
  const paths = [
    '/users',
    '//users',
    '/users/',
    '/./users',
    '/agents/../users',
    '/agents/%2e%2e/users',
    '/users%2f',
    '/users;a=b',
    '/USERS',
    '/api/v1/../../users',
    '/api/v1//users',
    '/docs/../users',
    '/healthz/../users',
    '/users%00',
    '/users?',
    '/%75sers',
    `/agents/${hidden}`,
    `/agents/${hidden}/`,
    `/agents/${hidden.toUpperCase()}`,
    `/agents//${hidden}`,
    `/agents/%2e/${hidden}`,
    `/docs/../agents/${hidden}`,
    `/agents/${hidden}%00`,
    `/agents/${hidden}/.well-known/../`,
    `/agents/${hidden}/..`,
  ];
  for (const path of paths) {
    const { status } = await rawGet(path);
    expect([path, [400, 403, 404, 405].includes(status)]).toEqual([path, true]);
  }
});

test('files outside the store are not served', async () => {
  const paths = [
    '/files/../../etc/passwd',
    '/files/..%2f..%2fetc%2fpasswd',
    '/docs/agents/..%2f..%2fpackage.json',
    '/docs/../package.json',
  ];
  for (const path of paths) {
    const { status, text } = await rawGet(path);
    expect([path, status >= 400 && status < 500, /root:|"cadenza"/.test(text)]).toEqual([path, true, false]);
  }
});

test('proxy headers and method overrides have no effect', async () => {
  for (const header of [
    'X-HTTP-Method-Override: DELETE',
    'X-Forwarded-User: the-admin',
    'X-Original-URL: /users',
    'X-Rewrite-URL: /users',
    'X-Forwarded-For: 127.0.0.1',
    'Forwarded: for=127.0.0.1',
    'X-Remote-User: the-admin',
  ]) {
    expect([header, (await rawGet('/users', [header])).status]).toEqual([header, 403]);
    expect([header, (await rawGet('/users/me', [header])).text.includes('the-viewer')]).toEqual([
      header,
      true,
    ]);
  }
});

test('no header can be injected into a response', async () => {
  const { text } = await rawGet('/users/me', ['X-Request-Id: a%0d%0aSet-Cookie: a=b']);
  expect(/^Set-Cookie/im.test(text)).toBe(false);
  const file = await builder.post('/files?name=a%22%0d%0aX-Evil:%201.txt', 'x', {
    headers: { 'content-type': 'text/plain' },
  });
  if (file.status === 201) {
    const download = await builder.get(`/files/${file.body.id}`);
    expect(download.headers.get('x-evil')).toBeNull();
  } else {
    expect(file.status).toBe(422);
  }
});

test('a request with two lengths is refused, so no request hides behind another', async () => {
  const { token } = await app.user('viewer');
  const head =
    'POST /workflows/validate HTTP/1.1\r\nHost: a\r\n' +
    `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  const hidden = 'GET /users/me HTTP/1.1\r\nHost: a\r\n\r\n';
  const { status, text } = await raw(
    `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  );
  expect(status).toBe(400);
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test("a documentation page never runs what an agent's documentation contains", async () => {
  const documentation =
    '<script>alert(1)</script> [a](javascript:alert(1)) ![b](data:text/html,x) <img src=x onerror=alert(1)>';
  const agent = (
    await builder.post(
      '/agents',
      agentBody({ visibility: 'public', documentation, name: '<script>alert(2)</script>' }),
    )
  ).body;
  const page = await viewer.get(`/docs/agents/${agent.id}`);
  expect(page.status).toBe(200);
  expect(page.body).not.toMatch(/<script|(href|src)="(javascript|data):|<img[^>]+onerror/i);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
});

test('a diagram contains no script of the definition', async () => {
  const definition = { do: [{ '</text><script>alert(1)</script>': { set: { a: 1 } } }] };
  const workflow = (await builder.post('/workflows', { name: '"><script>', definition })).body;
  const svg = await builder.get(`/workflows/${workflow.id}/diagram`, {
    headers: { accept: 'image/svg+xml' },
  });
  expect([200, 409, 422]).toContain(svg.status);
  expect(String(svg.body)).not.toContain('<script');
});

test('an uploaded page is downloaded, not shown as a page of ours', async () => {
  for (const type of ['text/html', 'image/svg+xml', 'application/xhtml+xml']) {
    const file = await builder.post('/files?name=page', '<script>alert(1)</script>', {
      headers: { 'content-type': type },
    });
    const reply = await builder.get(`/files/${file.body.id}`);
    expect([type, reply.headers.get('x-content-type-options')]).toEqual([type, 'nosniff']);
    const disposition = reply.headers.get('content-disposition') ?? '';
    const policy = reply.headers.get('content-security-policy') ?? '';
    expect([type, disposition.startsWith('attachment') || /sandbox/.test(policy)]).toEqual([type, true]);
  }
});

/**
 * Sends other requests until the hostile one is answered. An API that stops for good fails by the time limit
 * of the test; `npm run bench:hostile` measures how long others wait.
 */
async function whileAnswering(hostile: Promise<unknown>): Promise<void> {
  let done = false;
  const settled = hostile.finally(() => {
    done = true;
  });
  do {
    expect((await app.anonymous.get('/healthz')).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 20));
  } while (!done);
  await settled;
}

test('backtracking patterns and recursive schemas do not stop the API', async () => {
  const pattern = '^(a+)+$';
  const value = `${'a'.repeat(40)}!`;
  const schemas = [
    { type: 'object', properties: { text: { type: 'string', pattern } } },
    {
      type: 'object',
      properties: { text: { allOf: Array.from({ length: 200 }, () => ({ pattern: '(x|x|x)*$' })) } },
    },
    {
      $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }, { $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } },
      $ref: '#/$defs/a',
    },
  ];
  for (const schema of schemas) {
    const definition = { input: { schema: { document: schema } }, do: [{ first: { set: { a: 1 } } }] };
    const created = await builder.post('/workflows', { name: 'pattern', definition });
    expect(created.status).toBeLessThan(500);
    const start = builder.post(`/workflows/${created.body.id}/run`, { input_params: { text: value } });
    await whileAnswering(start.then((reply) => expect(reply.status).toBeLessThan(500)));
  }
});

test('a definition of 2 MB, ten thousand tasks or deep expressions does not stop the API', async () => {
  const many = {
    do: Array.from({ length: 10_000 }, (_, index) => ({ [`t${index}`]: { set: { a: '${ .x | .y }' } } })),
  };
  const wide = { do: [{ a: { set: { text: 'x'.repeat(1_900_000) } } }] };
  const deep = { do: [{ a: { set: { b: `\${ ${'('.repeat(5_000)}1${')'.repeat(5_000)} }` } } }] };
  const comma = { do: [{ a: { set: { b: `\${ ${'1,'.repeat(50_000)}1 }` } } }] };
  for (const definition of [many, wide, deep, comma]) {
    const validate = builder.post('/workflows/validate', { definition });
    await whileAnswering(validate.then((reply) => expect([200, 422, 413, 400]).toContain(reply.status)));
  }
});

test('deep, wide or heavily escaped JSON does not stop the API', async () => {
  const bodies = [
    `${'['.repeat(1_000_000)}`,
    `{"a":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`,
    `{"input":"${'\\u0041'.repeat(300_000)}"}`,
    `{"input":${'9'.repeat(1_900_000)}}`,
    `{"input":[${'[],'.repeat(600_000)}[]]}`,
    `{${Array.from({ length: 100_000 }, (_, index) => `"field${index}":1`).join(',')}}`,
  ];
  const agent = (
    await builder.post('/agents', agentBody({ configuration: { endpoint: 'https://agent.example.com' } }))
  ).body;
  for (const body of bodies) {
    const invoke = builder.post(`/agents/${agent.id}/invoke`, body);
    await whileAnswering(
      invoke.then((reply) => {
        expect(reply.status).toBeLessThan(500);
        expect(JSON.stringify(reply.body).length).toBeLessThan(2_100_000);
      }),
    );
  }
});

test('long or numerous parameters, names and cursors get a short refusal', async () => {
  const queries = [
    `colour=${'x'.repeat(10_000)}`,
    Array.from({ length: 1_000 }, (_, index) => `p${index}=1`).join('&'),
    `q=${'%25'.repeat(255)}`,
    `q=${'_'.repeat(255)}`,
    `cursor=${'A'.repeat(8_000)}`,
    'limit=1&limit=2',
    'q[]=1',
    'q[a]=1',
    '__proto__=1',
  ];
  for (const query of queries) {
    const reply = await viewer.get(`/agents?${query}`);
    expect([query.slice(0, 20), [200, 400, 414, 431].includes(reply.status)]).toEqual([
      query.slice(0, 20),
      true,
    ]);
    expect(JSON.stringify(reply.body).length).toBeLessThan(20_000);
  }
});

test('SQL in a text is only text', async () => {
  const texts = [
    "'",
    "''; drop table agent; --",
    '%',
    '_',
    '\\',
    '"',
    '$1',
    '?',
    '??',
    ':name',
    '\u2028',
    '\u{1F600}',
  ];
  for (const text of texts) {
    const agent = await builder.post(
      '/agents',
      agentBody({ name: text, tags: [text, `a${text}b`], capabilities: [text] }),
    );
    expect([text, agent.status, agent.body.name, agent.body.tags]).toEqual([
      text,
      201,
      text,
      [text, `a${text}b`],
    ]);
    const query = encodeURIComponent(text);
    for (const filter of [`q=${query}`, `tag=${query}`, `capability=${query}`]) {
      const found = await builder.get(`/agents?limit=200&${filter}`);
      expect([text, filter, found.status]).toEqual([text, filter, 200]);
      expect(found.body.map((record: { id: string }) => record.id)).toContain(agent.body.id);
    }
    const byName = await builder.get(`/agents?name=${query}`);
    expect(byName.body.map((record: { name: string }) => record.name)).toEqual([text]);
  }
});
