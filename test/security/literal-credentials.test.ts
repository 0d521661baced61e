/** Literal credentials in an agent or a workflow do not stay readable. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import {
  credentialsInDefinition,
  looksLikeCredential,
  namesCredential,
} from '../../contracts/credentials.ts';
import { withoutSecrets } from '../../domain/marketplace/agent-configuration.ts';
import { resolveSecret } from '../../domain/secrets/service.ts';
import { agentBody, registeredAgent } from '../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { processorClock } from '../support/machine.ts';

let t: TestApp;
let owner: TestUser;
let builder: Client;

beforeAll(async () => {
  t = await startTestApp();
  owner = await t.createUser();
  builder = await t.as(owner);
});
afterAll(() => t.close());

const resolve = (placeholder: string) =>
  resolveSecret(t.orm.em.fork(), t.app.deps.encryption, owner.id, placeholder.replaceAll(/[<>]/g, ''));
const create = async (more: Record<string, unknown>) => registeredAgent(builder, more);

describe('a key of the configuration', () => {
  test.each([
    'X-API-Key',
    'x-api-key',
    'apikey',
    'API_KEY',
    'apiKey',
    'openaiApiKey',
    'accessToken',
    'ACCESSTOKEN',
    'refresh-token',
    'PRIVATE-TOKEN',
    'tokens',
    'clientSecret',
    'client_secret',
    'secret',
    'webhookSecretKey',
    'password',
    'dbPassword',
    'PGPASSWORD',
    'Authorization',
    'Proxy-Authorization',
    'privateKey',
    'private_key_pem',
    'credentials',
    'awsCredential',
    'Cookie',
    'Set-Cookie',
    'X-Auth-Token',
    'x-amz-security-token',
    'Ocp-Apim-Subscription-Key',
    'aws_secret_access_key',
    'X-Key',
    'x-master-key',
    'DD-APPLICATION-KEY',
    'X-Auth-Key',
    'masterKey',
    'app_key',
    'accountKey',
  ])('%s names a credential', (key) => expect(namesCredential(key)).toBe(true));
  test.each([
    'token_url',
    'tokenUri',
    'token-endpoint',
    'secret_name',
    'passwordField',
    'token_type',
    'authorizationUrl',
    'tokenizer',
    'secretary',
    'endpoint',
    'model',
    'username',
    'key',
    'Content-Type',
    'author',
    'Idempotency-Key',
    'X-Idempotency-Key',
    'kafka-key',
    'Sec-WebSocket-Key',
    'xKey',
    'x_key',
    'keyboard-layout',
    'monkey',
  ])('%s does not', (key) => expect(namesCredential(key)).toBe(false));
});

test('literal credentials in keys, headers and addresses are moved to the store', async () => {
  const configuration = {
    endpoint:
      'https://user:literal-userinfo@api.example/' +
      'x?api_key=literal-query&page=1&accessToken=literal-other#top',
    headers: {
      'X-API-Key': 'literal-header',
      'PRIVATE-TOKEN': 'literal-private',
      'X-Key': 'literal-short',
      'Idempotency-Key': 'order-1',
      Cookie: 'sid=literal-cookie',
      Accept: 'application/json',
    },
    options: {
      accessToken: 'literal-token',
      deep: [{ clientSecret: 'literal-secret' }],
      token_url: 'https://id.example/token',
    },
    env: [
      { name: 'DB_PASSWORD', value: 'literal-pair' },
      { name: 'REGION', value: 'eu' },
    ],
    kept: { apikey: '<OWN_KEY>', url: 'https://api.example/?api_key=<OWN_KEY>&token={token}' },
  };
  const agent = await create({
    configuration,
    authentication_config: { clientSecret: 'literal-auth', tokenUrl: 'https://id.example' },
  });
  expect(JSON.stringify(agent)).not.toContain('literal-');
  const { endpoint, headers, options, env, kept } = agent.configuration;
  expect(endpoint).toMatch(
    new RegExp(
      String.raw`^https://user:<AGENT_\w+_PASSWORD_1>@api\.example/x` +
        String.raw`\?api_key=<AGENT_\w+_API_KEY_1>&page=1&accessToken=<AGENT_\w+_ACCESS_TOKEN_\d>#top$`,
    ),
  );
  expect(headers).toMatchObject({
    'X-API-Key': expect.stringMatching(/^<AGENT_\w+_X_API_KEY_1>$/),
    'X-Key': expect.stringMatching(/^<AGENT_\w+_X_KEY_1>$/),
    'Idempotency-Key': 'order-1',
    Accept: 'application/json',
  });
  expect(options.token_url).toBe('https://id.example/token');
  expect(env).toMatchObject([
    { name: 'DB_PASSWORD', value: expect.stringMatching(/_DB_PASSWORD_1>$/) },
    { name: 'REGION', value: 'eu' },
  ]);
  expect(kept).toEqual(configuration.kept);
  expect(await resolve(headers['X-API-Key'])).toBe('literal-header');
  expect(await resolve(/api_key=(<\w+>)/.exec(endpoint)?.[1] ?? '')).toBe('literal-query');
  expect(await resolve(agent.authentication_config.clientSecret)).toBe('literal-auth');

  const version = await builder.post(`/agents/${agent.id}/versions`, {
    version: '2.0.0',
    configuration: { apiKey: 'literal-version' },
  });
  expect(JSON.stringify(version.body)).not.toContain('literal-');
  const dump = JSON.stringify(
    await t.orm.em.fork().execute(
      `select (select json_agg(agent) from agent),
          (select json_agg(v) from agent_version v),
          (select json_agg(i) from idempotency_record i)`,
    ),
  );
  expect(dump).not.toContain('literal-');
});

/** What says how and where one authenticates, also in the words of OpenAPI and A2A. */
const HOW = {
  type: 'oauth2',
  in: 'header',
  header: 'X-K',
  name: 'X-Name',
  prefix: 'Key ',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  flow: 'clientCredentials',
  flows: {
    clientCredentials: {
      tokenUrl: 'https://id.example/token',
      scopes: { 'plan:read': 'Read plans', 'plan:write': 'Change plans' },
    },
    password: { tokenUrl: 'https://id.example/token', refreshUrl: '/refresh', scopes: {} },
  },
  securitySchemes: {
    apiKey: { type: 'apiKey', in: 'cookie', name: 'sid' },
    ours: { apiKeySecurityScheme: { location: 'query', name: 'k', description: 'Ask for one.' } },
  },
  grant: 'client_credentials',
  grant_type: 'client_credentials',
  param: 'k',
  query: 'k',
  placement: 'header',
  domain: 'plans.example',
  host: 'plans.example',
  version: '2.0',
  provider: 'keycloak',
  subject: 'cadenza',
  sub: 'cadenza',
  iss: 'plans',
  aud: 'plans',
  audience: 'urn:plans',
  scopes: ['plan'],
  scope: 'plan:read',
  app_id: 'a1b2c3d4-0000-7000-8000-000000000000',
  client_id: 'cadenza0123456789abcdefghijklmn',
  key_id: 'k-2026',
  kid: 'k-2026',
  alg: 'ECDH-ES+A256KW',
  account: 'acme',
  organization: 'acme',
  project: 'plans',
  tenant: 'acme',
  login: 'ada',
  docs: 'Ask the team of plans for access.',
  headers: { Accept: 'application/json', 'X-Api-Version': '2', 'Content-Type': 'application/json' },
  issuer: 'https://id.example',
  base: 'https://api.example',
};

test('what says how one authenticates is no credential', async () => {
  const agent = await create({
    visibility: 'public',
    authentication_type: 'oauth',
    authentication_config: HOW,
  });
  expect(agent.authentication_config).toEqual(HOW);
  const card = await (await t.as('viewer')).get(`/agents/${agent.id}/.well-known/agent.json`);
  expect(card.body.authentication).toEqual({ type: 'oauth', config: HOW });
  const { authentication_config: published, secrets } = withoutSecrets(
    { configuration: null, authentication_config: HOW },
    [],
  );
  expect([published, secrets]).toEqual([HOW, []]);
});

test('more texts are credentials in authentication_config than elsewhere', async () => {
  const literals = {
    header: 'X-K',
    key: 'literal-key',
    value: 'literal-value',
    jwt: 'literal-jwt',
    pass: 'literal-pass',
    userPass: 'literal-user-pass',
    bearer: 'literal-bearer',
    sig: 'literal-sig',
    signature: 'literal-signature',
    pin: 'literal-pin',
    client_assertion: 'literal-assertion',
    code: 'literal-code',
    basic: 'literal-basic',
    shared_key: 'literal-shared',
    api_key: ['literal-list', '<OWN_KEY>'],
    headers: { 'X-K': 'literal-header', list: ['literal-one', '<OWN_KEY>'] },
    query: { k: 'literal-query' },
    cookies: { sid: 'literal-cookie' },
    pair: { name: 'X-K', value: 'literal-pair' },
    other: 'sk-proj-literal-0123456789abcdef',
    kept: '<OWN_KEY>',
    count: 3,
  };
  const agent = await create({
    visibility: 'public',
    authentication_type: 'api_key',
    authentication_config: literals,
  });
  const viewer = await t.as('viewer');
  for (const path of [`/agents/${agent.id}`, `/agents/${agent.id}/.well-known/agent.json`]) {
    const { status, body } = await viewer.get(path);
    expect([path, status, JSON.stringify(body)]).toEqual([
      path,
      200,
      expect.not.stringContaining('literal-'),
    ]);
  }
  const stored = agent.authentication_config;
  expect(stored).toMatchObject({ header: 'X-K', kept: '<OWN_KEY>', count: 3, pair: { name: 'X-K' } });
  expect(await resolve(stored.key)).toBe('literal-key');
  expect(await resolve(stored.value)).toBe('literal-value');
  expect(await resolve(stored.headers.list[0])).toBe('literal-one');
  const item = withoutSecrets({ configuration: null, authentication_config: literals }, []);
  expect(JSON.stringify(item)).not.toContain('literal-');
  // The same words are names of data elsewhere.
  const { configuration } = await create({ configuration: { key: 'plain', value: 'plain', jwt: 'plain' } });
  expect(configuration).toEqual({ key: 'plain', value: 'plain', jwt: 'plain' });
});

test('too many literal credentials in one save are refused as a whole, wherever they are', async () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`api_key_${at}`, `literal-${at}`]));
  const secrets = async () =>
    (await t.orm.em.fork().execute<{ count: number }[]>('select count(*)::int as count from secret'))[0]
      ?.count;
  const before = await secrets();
  const refusal = (part: string) => ({
    status: 422,
    body: { errors: [{ pointer: `/${part}`, code: 'too_many_credentials' }] },
  });
  const query = Array.from({ length: 201 }, (_, at) => `token=literal-${at}`).join('&');
  expect(await builder.post('/agents', agentBody({ configuration: many(15_000) }))).toMatchObject(
    refusal('configuration'),
  );
  expect(
    await builder.post(
      '/agents',
      agentBody({ configuration: { endpoint: `https://api.example/?${query}` } }),
    ),
  ).toMatchObject(refusal('configuration'));
  expect(
    await builder.post('/agents', agentBody({ configuration: many(150), authentication_config: many(150) })),
  ).toMatchObject(refusal('authentication_config'));
  expect(await secrets()).toBe(before);
  const agent = await create({ configuration: many(200) });
  expect(JSON.stringify(agent)).not.toContain('literal-');
  expect(
    await builder.post(`/agents/${agent.id}/versions`, { version: '2.0.0', configuration: many(201) }),
  ).toMatchObject(refusal('configuration'));
  expect(await builder.patch(`/agents/${agent.id}`, { configuration: many(201) })).toMatchObject(
    refusal('configuration'),
  );
});

test('a value that only resembles a credential causes a warning with its place', async () => {
  const looks = [
    'sk-proj-0123456789abcdef',
    'ghp_0123456789abcdefghij0123',
    'AKIAIOSFODNN7EXAMPLE',
    'Bearer 0123456789abcdef0123',
    '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----',
  ];
  const agent = await create({
    url: 'https://x.example',
    configuration: { notes: looks },
    documentation: `Use ${looks[0]}.`,
  });
  const pointers = agent.warnings
    .filter(({ message }: { message: string }) => message.includes('looks like a credential'))
    .map(({ pointer }: { pointer: string }) => pointer);
  expect(pointers).toEqual([...looks.map((_, index) => `/configuration/notes/${index}`), '/documentation']);
  expect(agent.configuration.notes).toEqual(looks);
  expect(looksLikeCredential('sketchy, but skip-navigation is a word')).toBe(false);
});

test('literal credentials in a definition cause warnings, expressions and secrets do not', async () => {
  const call = (authentication: unknown, uri = 'https://x.example') => ({
    call: 'http',
    with: { method: 'get', endpoint: { uri, authentication } },
  });
  const definition = {
    use: {
      secrets: ['service_token'],
      authentications: { shared: { basic: { username: 'ada', password: 'literal' } } },
    },
    do: [
      { a: call({ bearer: { token: 'literal' } }) },
      { b: call({ bearer: { token: '${ $secrets.service_token }' } }) },
      { c: call({ bearer: { use: 'service_token' } }) },
      {
        d: {
          call: 'http',
          with: {
            method: 'get',
            endpoint: 'https://x.example/?api_key=literal',
            headers: { 'X-API-Key': 'literal' },
          },
        },
      },
      { e: { set: { token: 'a word of the data' } } },
    ],
  };
  const { body } = await builder.post('/workflows', { name: 'w', definition });
  const pointers = body.problems
    .filter(({ code }: { code: string }) => code === 'literal_secret')
    .map(({ pointer }: { pointer: string }) => pointer);
  expect(pointers.toSorted()).toEqual([
    '/do/0/a/with/endpoint/authentication/bearer/token',
    '/do/3/d/with/endpoint',
    '/do/3/d/with/headers/X-API-Key',
    '/use/authentications/shared/basic/password',
  ]);
  expect(body).toMatchObject({ valid: true, runnable: true });
  expect(credentialsInDefinition({ do: [] })).toEqual([]);
});

test('an older literal credential is moved on the next save, also out of published versions', async () => {
  const agent = await create({ configuration: { endpoint: 'https://x.example' } });
  await builder.post(`/agents/${agent.id}/versions/1.0.0/publish`);
  const stored = JSON.stringify({
    endpoint: 'https://x.example',
    headers: { 'X-API-Key': 'literal-before' },
  });
  for (const table of ['agent', 'agent_version']) {
    await t.orm.em
      .fork()
      .execute(
        `update ${table} set configuration = ?::json where ${table === 'agent' ? 'id' : 'agent_id'} = ?`,
        [stored, agent.id],
      );
  }
  const saved = await builder.patch(`/agents/${agent.id}`, { description: 'saved again' });
  expect(saved.status).toBe(200);
  const [version] = saved.body.versions;
  expect(version).toMatchObject({
    status: 'published',
    configuration: { headers: { 'X-API-Key': expect.stringMatching(/^<AGENT_\w+_X_API_KEY_1>$/) } },
  });
  expect(saved.body.configuration).toEqual(version.configuration);
  expect(await resolve(version.configuration.headers['X-API-Key'])).toBe('literal-before');
});

test('the search in long texts takes linear time', () => {
  const spentMs = processorClock();
  for (const part of ['?a=', '://a:', 'sk-', 'eyJ', '-eyJ', ' ', 'Bearer '])
    credentialsInDefinition({ text: `https://x.example${part.repeat(200_000)}` });
  expect(spentMs()).toBeLessThan(20_000);
});
