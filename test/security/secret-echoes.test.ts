/** A counterpart that echoes the secrets of a call: no part of them reaches a run. */
import { expect, test } from '@jest/globals';

import { createAdapters, createEgressPolicy } from '../../adapters/index.ts';
import type { CallFiles, FileReference } from '../../domain/ports.ts';
import { agentCall, faultOf, httpCall, noFiles } from '../support/agent-call.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';

const secret = 'Sk-Live/9f8E7d6C+5b4A3=%';
const secrets = { KEY: secret, PIN: '48213377' };
const opened = closedAfterEach();

async function server(handler: Parameters<typeof startServer>[0]): Promise<TestServer> {
  return opened(await startServer(handler));
}

function adapters() {
  const egress = createEgressPolicy({ allow: ['127.0.0.1', 'localhost'] });
  opened(egress);
  return createAdapters({ egress });
}

/** Any eight consecutive characters of the secret that are shown, in any case, in base64 or hex. */
function piecesOf(value: string, shown: unknown): string[] {
  const text = JSON.stringify(shown).toLowerCase();
  const bytes = Buffer.from(value);
  return [value, bytes.toString('base64'), bytes.toString('hex')].flatMap((whole) =>
    Array.from({ length: whole.length - 7 }, (_, at) => whole.slice(at, at + 8)).filter((piece) =>
      text.includes(piece.toLowerCase()),
    ),
  );
}

const configuration = (url: string, more: Record<string, unknown> = {}) => ({
  endpoint: url,
  headers: { 'x-api-key': '<KEY>', 'x-pin': '<PIN>' },
  ...more,
});

test('a response with secrets in other cases, in encodings and as numbers is redacted', async () => {
  const target = await server((_, response) =>
    sendJson(response, {
      upper: secret.toUpperCase(),
      url: encodeURIComponent(secret).toLowerCase(),
      basic: Buffer.from(`user:${secret}`).toString('base64'),
      token: Buffer.from(`x${secret}`).toString('base64url'),
      hex: Buffer.from(secret).toString('hex'),
      nested: JSON.stringify({ secret }),
      pin: 48213377,
      negated: -48213377,
      [secret.toLowerCase()]: 1,
    }),
  );
  const { output } = await adapters().invoke(
    agentCall({ configuration: configuration(target.url) }, {}, { secrets }),
  );
  expect(piecesOf(secret, output)).toEqual([]);
  expect(output).toMatchObject({ upper: '<KEY>', url: '<KEY>', pin: '<PIN>', negated: '<PIN>', '<KEY>': 1 });
});

test('a response expression that splits a secret finds only its placeholder', async () => {
  const target = await server((request, response) =>
    sendJson(response, { echoed: request.headers['x-api-key'] }),
  );
  const { output } = await adapters().invoke(
    agentCall({ configuration: configuration(target.url, { response: '.echoed[0:12]' }) }, {}, { secrets }),
  );
  expect(output).toBe('<KEY>');
});

test.each([...Array(12).keys()])(
  'an error is redacted before it is cut, %i characters later',
  async (shift) => {
    const target = await server((_, response) =>
      sendJson(response, { message: `${'x'.repeat(280 + shift * 2)}${secret}` }, 500),
    );
    const { detail } = await faultOf(
      adapters().invoke(agentCall({ configuration: configuration(target.url) }, {}, { secrets })),
    );
    expect(piecesOf(secret, detail)).toEqual([]);
    const ofModel = agentCall(
      { type: 'llm', configuration: { base_url: target.url, model: 'm', api_key: '<KEY>' } },
      'hello',
      { secrets },
    );
    expect(piecesOf(secret, (await faultOf(adapters().invoke(ofModel))).detail)).toEqual([]);
  },
);

test('a secret in a host name is redacted, also in lower case', async () => {
  const call = agentCall(
    { configuration: { endpoint: 'https://<TENANT>.invalid/ask' } },
    {},
    { secrets: { TENANT: 'TenantSecret42' } },
  );
  expect(piecesOf('TenantSecret42', (await faultOf(adapters().invoke(call))).detail)).toEqual([]);
});

test('a text file with a secret in several chunks, and in its name, is redacted', async () => {
  const target = await server(async (_, response) => {
    response.writeHead(200, {
      'content-type': 'text/csv',
      'content-disposition': `attachment; filename="${secret.replaceAll('/', '')}.csv"`,
    });
    response.write(`id,key\n1,${secret.slice(0, 9)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    response.end(`${secret.slice(9)}\n2,${Buffer.from(secret).toString('base64')}\n`);
  });
  let stored = '';
  const files: CallFiles = {
    ...noFiles,
    async store(content, { name, media_type }): Promise<FileReference> {
      if (content instanceof Uint8Array) stored = Buffer.from(content).toString();
      else for await (const chunk of content) stored += Buffer.from(chunk).toString();
      return { file_id: 'f', name, media_type };
    },
  };
  const call = {
    ...agentCall(
      { configuration: configuration(target.url) },
      {},
      { secrets: { KEY: secret, PIN: secret.replaceAll('/', '') } },
    ),
    files,
  };
  const { output } = await adapters().invoke(call);
  expect(stored).toBe('id,key\n1,<KEY>\n2,<KEY>\n');
  expect(piecesOf(secret, stored)).toEqual([]);
  expect(piecesOf(secret.replaceAll('/', ''), output)).toEqual([]);
});

test('a call of the definition language is redacted in the same way', async () => {
  const target = await server((request, response) => {
    if (request.path === '/fails') return sendJson(response, { message: `${'x'.repeat(290)}${secret}` }, 503);
    sendJson(response, { echoed: request.headers.authorization, lower: secret.toLowerCase() });
  });
  const authentication = { bearer: { use: 'KEY' } };
  const { output } = await adapters().http(
    httpCall({ method: 'get', endpoint: { uri: target.url, authentication } }, { secrets }),
  );
  expect(output).toEqual({ echoed: 'Bearer <KEY>', lower: '<KEY>' });
  const raw = await adapters().http(
    httpCall({ method: 'get', endpoint: { uri: target.url, authentication }, output: 'raw' }, { secrets }),
  );
  expect(piecesOf(secret, raw.output)).toEqual([]);
  const failing = adapters().http(
    httpCall({ method: 'get', endpoint: { uri: `${target.url}/fails`, authentication } }, { secrets }),
  );
  expect(piecesOf(secret, (await faultOf(failing)).detail)).toEqual([]);
});
