/** What definitions take from elsewhere, through the API: fetched when saved, pinned, refreshed. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { threadClock } from '../../support/machine.ts';
import { approvedItem, installed } from '../../support/marketplace.ts';

let app: TestApp;
let server: TestServer;
let builder: Client;
/** The file of the function; null: the server answers 503. */
let file: string | null = '';

/** Of processor time: hours without a limit. */
const PATIENCE_MS = 15_000;
const CALL = 'double:1.0.0@team';
const FIRST = 'set: { n: "${ .n * 2 }" }';

beforeAll(async () => {
  server = await startServer(({ path, headers }, response) => {
    if (path.startsWith('/guarded') && headers.authorization !== 'Bearer the-token-of-the-catalog')
      return void response.writeHead(401).end();
    if (path === '/huge') return void response.writeHead(200).end(`set: { a: ${'x'.repeat(300_000)} }`);
    if (path === '/bomb') return void response.writeHead(200).end(bomb());
    if (file === null) return void response.writeHead(503).end();
    response.writeHead(200).end(file);
  });
  app = await startTestApp({ env: { EGRESS_HOST_MAP: `https://team.test=${server.url}` } });
  builder = await app.as('builder');
});
afterAll(async () => {
  await app.close();
  await server.close();
});
beforeEach(() => {
  file = FIRST;
  server.seen.length = 0;
});

/** Aliases that would be gigabytes. */
function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(9)}*l${i}]`);
  return `l0: &l0 [${'a,'.repeat(50)}a]\n${levels.join('\n')}`;
}

function definition(more: object = {}): Record<string, unknown> {
  return {
    use: { catalogs: { team: { endpoint: 'https://team.test/catalog' } } },
    do: [{ twice: { call: CALL, with: { n: '${ .n }' } } }],
    ...more,
  };
}

async function created(given: Record<string, unknown> = definition()) {
  const { status, body } = await builder.post('/workflows', { name: 'doubles', definition: given });
  expect(status).toBe(201);
  return body;
}

test('a revision shows what it has pinned, and keeps the definition as it is written', async () => {
  const workflow = await created();
  expect(workflow).toMatchObject({ valid: true, runnable: true, problems: [] });
  expect(workflow.resources).toEqual([
    {
      kind: 'function',
      pointer: '/do/0/twice/call',
      url: 'https://team.test/catalog/functions/double/1.0.0/function.yaml',
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      bytes: FIRST.length,
    },
  ]);
  expect(workflow.definition.use.functions).toBeUndefined();
  const { body } = await builder.get(`/workflows/${workflow.id}/revisions/1`);
  expect(body.resources).toEqual(workflow.resources);
  expect(server.seen.map(({ path }) => path)).toEqual(['/catalog/functions/double/1.0.0/function.yaml']);
});

test('saving again refreshes: a change is a new revision, an outage keeps what was pinned', async () => {
  const workflow = await created();
  const save = (given = definition()) => builder.patch(`/workflows/${workflow.id}`, { definition: given });
  expect((await save()).body.revision).toBe(1);
  file = 'set: { n: "${ .n * 3 }" }';
  const changed = (await save()).body;
  expect([changed.revision, changed.runnable, changed.problems]).toEqual([
    2,
    true,
    [expect.objectContaining({ code: 'resource_changed', pointer: '/do/0/twice/call', severity: 'warning' })],
  ]);
  expect(changed.resources[0].digest).not.toBe(workflow.resources[0].digest);
  expect((await save()).body.revision).toBe(2);
  file = null;
  expect((await save()).body.revision).toBe(2);
  const other = (await save(definition({ output: { as: '.n' } }))).body;
  expect([other.revision, other.runnable, other.problems]).toEqual([
    3,
    true,
    [expect.objectContaining({ code: 'resource_not_refreshed', severity: 'warning' })],
  ]);
  expect(other.resources).toEqual(changed.resources);
  // What one address gave does not stand for another.
  const moved = definition({ use: { catalogs: { team: { endpoint: 'https://team.test/other' } } } });
  expect((await save(moved)).body.problems).toEqual([
    expect.objectContaining({ code: 'resource_refused', severity: 'error' }),
  ]);
  // Other fields fetch nothing.
  server.seen.length = 0;
  expect((await builder.patch(`/workflows/${workflow.id}`, { description: 'new' })).status).toBe(200);
  expect(server.seen).toEqual([]);
});

test('a source that refuses is an error at the call, and its workflow cannot run', async () => {
  file = null;
  const workflow = await created();
  expect(workflow).toMatchObject({
    valid: false,
    runnable: false,
    problems: [
      {
        code: 'resource_refused',
        pointer: '/do/0/twice/call',
        message: expect.stringContaining('function.yaml cannot be fetched: it answered 503'),
      },
    ],
  });
  expect((await builder.post(`/workflows/${workflow.id}/run`, { input_params: {} })).status).toBe(422);
});

test.each([
  ['too large', 'https://team.test/huge'],
  ['a bomb of aliases', 'https://team.test/bomb'],
  ['an own server', 'http://127.0.0.1:1/function.yaml'],
])('a resource that is %s is refused', async (_, url) => {
  const workflow = await created({ do: [{ a: { call: url, with: {} } }] });
  expect(workflow.problems).toEqual([
    expect.objectContaining({ code: 'resource_refused', pointer: '/do/0/a/call', severity: 'error' }),
  ]);
});

test('a fetched function with a text that cannot be stored is a mistake like others', async () => {
  file = JSON.stringify({ call: 'agent', with: { agent: 'nobody\0' } });
  const workflow = await created();
  expect(workflow.runnable).toBe(false);
});

test('a set keeps what is pinned through an outage, with a warning; its digest covers it', async () => {
  const applied = (more: object = {}, name = 'set-doubles') =>
    builder.post('/apply', {
      set: 'pinned',
      resources: [{ kind: 'workflow', name, definition: definition() }],
      ...more,
    });
  expect((await applied()).body.plan).toMatchObject([{ action: 'create', warnings: [] }]);
  const { body: planned } = await applied({ dry_run: true });
  file = null;
  const outage = await applied({ digest: planned.digest });
  expect([outage.status, outage.body.plan]).toEqual([
    200,
    [
      expect.objectContaining({
        action: 'unchanged',
        warnings: [
          {
            pointer: '/definition/do/0/twice/call',
            code: 'resource_not_refreshed',
            message: expect.stringContaining('keeps the content of the last one'),
          },
        ],
      }),
    ],
  ]);
  file = 'set: { n: "${ .n * 4 }" }';
  const changed = await applied({ digest: planned.digest });
  expect([changed.status, changed.body.code]).toEqual([409, 'plan_changed']);
  const update = await applied();
  expect(update.body.plan).toMatchObject([
    { action: 'update', changes: ['definition'], warnings: [{ code: 'resource_changed' }] },
  ]);
  file = null;
  const unknown = await applied({}, 'set-new');
  expect([unknown.status, unknown.body.problems]).toMatchObject([422, [{ code: 'resource_refused' }]]);
});

test('a set fetches more addresses than one definition may', async () => {
  const calls = (from: number) => ({
    do: Array.from({ length: 15 }, (_, i) => ({
      [`a${i}`]: { call: `https://team.test/s${from + i}.yaml`, with: { n: 1 } },
    })),
  });
  const resources = [0, 15, 30].map((from) => ({
    kind: 'workflow',
    name: `many-${from}`,
    definition: calls(from),
  }));
  const { status, body } = await builder.post('/apply', { set: 'many', resources });
  expect([status, body.plan?.length, server.seen.length]).toEqual([200, 3, 45]);
});

test('a definition fetches a limited number of resources', async () => {
  const calls = Array.from({ length: 25 }, (_, i) => ({
    [`a${i}`]: { call: `https://team.test/f${i}.yaml`, with: {} },
  }));
  const workflow = await created({ do: calls });
  expect(server.seen).toHaveLength(20);
  expect(workflow.problems).toHaveLength(5);
  expect(workflow.problems[0].message).toContain('a definition takes at most 20');
});

test('a catalog is read with the secret of the owner, which is nowhere else', async () => {
  await builder.put('/secrets/CATALOG_TOKEN', { value: 'the-token-of-the-catalog' });
  const guarded = (authentication: object, secrets: string[]) =>
    definition({
      use: {
        secrets,
        catalogs: { team: { endpoint: { uri: 'https://team.test/guarded', authentication } } },
      },
    });
  const workflow = await created(guarded({ bearer: { use: 'CATALOG_TOKEN' } }, ['CATALOG_TOKEN']));
  expect(workflow.problems).toEqual([]);
  expect(JSON.stringify(workflow)).not.toContain('the-token');
  const text = await created(
    guarded({ bearer: { token: '${ $secrets.CATALOG_TOKEN }' } }, ['CATALOG_TOKEN']),
  );
  expect(text.problems).toEqual([]);
  const undeclared = await created(guarded({ bearer: { use: 'CATALOG_TOKEN' } }, []));
  expect(undeclared.runnable).toBe(false);
  // Another user has no such secret.
  const other = await app.as(await app.createUser());
  const { body } = await other.post('/workflows', {
    name: 'theirs',
    definition: guarded({ bearer: { use: 'CATALOG_TOKEN' } }, ['CATALOG_TOKEN']),
  });
  expect(body.problems).toEqual([expect.objectContaining({ code: 'resource_refused' })]);
});

test('validating sends no secret, and warns of what it does not fetch for that', async () => {
  const value = 'the-token-of-the-catalog';
  const owner = await app.createUser({ roles: ['builder'] });
  const asOwner = await app.as(owner);
  await asOwner.put('/secrets/CATALOG_TOKEN', { value });
  const validated = (authentication: object, more: object = {}) =>
    asOwner.post('/workflows/validate', {
      definition: definition({
        use: {
          secrets: ['CATALOG_TOKEN'],
          catalogs: { team: { endpoint: { uri: 'https://team.test/guarded', authentication } } },
          ...more,
        },
      }),
    });
  const bySecret = { bearer: { use: 'CATALOG_TOKEN' } };
  for (const reply of [
    await validated(bySecret),
    await validated({ bearer: { token: '${ $secrets.CATALOG_TOKEN }' } }),
    await validated({ use: 'named' }, { authentications: { named: bySecret } }),
  ])
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        valid: true,
        runnable: true,
        problems: [
          {
            pointer: '/do/0/twice/call',
            code: 'resource_not_checked',
            message: expect.stringContaining('because its authentication reads a secret'),
            severity: 'warning',
          },
        ],
      },
    ]);
  expect(server.seen).toEqual([]);
  // What is written in the definition is no secret of the caller.
  const written = await validated({ bearer: { token: value } });
  expect(written.body.problems).toEqual([expect.objectContaining({ code: 'literal_secret' })]);
  expect(server.seen).toHaveLength(1);
});

test('an expression of an authentication that takes long is refused soon', async () => {
  const password = '${ ("é" * 7000000) as $x | [range(100000) | $x | length] | add | tostring }';
  const authentication = { basic: { username: 'me', password } };
  const spentMs = threadClock();
  const workflow = await created({
    do: [{ a: { call: 'http', with: { method: 'get', endpoint: 'https://team.test/a' } } }],
    input: { schema: { resource: { endpoint: { uri: 'https://team.test/schema', authentication } } } },
  });
  expect(spentMs()).toBeLessThan(PATIENCE_MS);
  expect(workflow.problems).toEqual([
    expect.objectContaining({
      code: 'resource_refused',
      message: expect.stringContaining('an expression of its authentication takes too long'),
    }),
  ]);
  expect(server.seen).toEqual([]);
});

test('what a correlation expects is refused soon if it takes long', async () => {
  const expected = '${ ("é" * 7000000) as $x | [range(100000) | $x | length] | add | tostring }';
  const filter = { with: { type: 'a.b' }, correlate: { k: { from: '.data.k', expect: expected } } };
  const spentMs = threadClock();
  const { status, body } = await builder.post('/workflows', {
    name: 'expects',
    definition: { schedule: { on: { one: filter } }, do: [{ a: { set: { a: 1 } } }] },
  });
  expect(spentMs()).toBeLessThan(PATIENCE_MS);
  expect([status, body.errors]).toEqual([
    422,
    [
      expect.objectContaining({
        pointer: '/definition/schedule/on',
        code: 'expression',
        message: expect.stringContaining('takes too long'),
      }),
    ],
  ]);
});

test('validating fetches too, and so does applying a set', async () => {
  const { body } = await builder.post('/workflows/validate', { definition: definition(), name: 'x' });
  expect([body.runnable, body.problems]).toEqual([true, []]);
  const resources = [{ kind: 'workflow', name: 'applied', definition: definition() }];
  const applied = await builder.post('/apply', { set: 'resources', resources });
  expect([applied.status, applied.body.plan[0].action]).toEqual([200, 'create']);
  const again = await builder.post('/apply', { set: 'resources', resources });
  expect(again.body.plan[0].action).toBe('unchanged');
  file = 'set: { n: 1 }';
  const changed = await builder.post('/apply', { set: 'resources', resources });
  expect(changed.body.plan[0]).toMatchObject({ action: 'update', changes: ['definition'] });
});

test('an installed copy runs what was reviewed, whatever the source says by then', async () => {
  const workflow = await created();
  const item = await approvedItem(builder, await app.as('admin'), workflow);
  file = null;
  const user = await app.as(await app.createUser());
  const { ref_id: id } = await installed(user, item);
  const copy = (await user.get(`/workflows/${id}`)).body;
  expect([copy.runnable, copy.problems, copy.resources]).toEqual([true, [], workflow.resources]);
});
