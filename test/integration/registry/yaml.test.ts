/** Definitions as YAML, through HTTP: what is kept of the text, places, hostile bodies, the schema. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let ada: Client;
let grace: Client;

beforeAll(async () => {
  app = await startTestApp();
  [ada, grace] = (await Promise.all(
    ['ada', 'grace'].map(async (username) => app.as(await app.createUser({ username, roles: ['builder'] }))),
  )) as [Client, Client];
});
afterAll(async () => app.close());

const yaml = (type = 'application/yaml') => ({ headers: { 'content-type': type } });
const TEXT = `# What we say to newcomers.
document: { dsl: 1.0.3, namespace: default, name: greet, version: 1.0.0 }
do:
  - hello: # the only step
      set: { text: hello }
`;
const create = async (text = TEXT, client = ada): Promise<any> => {
  const { status, body } = await client.post('/workflows', text, yaml());
  expect([status, body]).toEqual([201, expect.any(Object)]);
  return body;
};
const textOf = async (id: string, query = '', client = ada) =>
  client.get(`/workflows/${id}/definition${query}`);

test('a bare definition is saved under the name in its document, and given back as written', async () => {
  const saved = await create();
  expect(saved).toMatchObject({ name: 'greet', revision: 1, valid: true, visibility: 'private' });
  expect(saved.definition.do).toEqual([{ hello: { set: { text: 'hello' } } }]);
  const { status, headers, body } = await textOf(saved.id);
  expect([status, headers.get('content-type'), body]).toEqual([200, 'application/yaml', TEXT]);

  // The registered name, its suffix, and the names that RFC 9512 deprecates.
  const types = ['application/x-yaml', 'text/yaml', 'text/x-yaml; charset=utf-8', 'application/flow+yaml'];
  for (const type of types) expect((await ada.post('/workflows', TEXT, yaml(type))).status).toBe(201);
});

test('the same object is taken as YAML too, also with the definition as a text', async () => {
  const nested =
    'name: nested\ntags: [a]\ndefinition: # kept as a value only\n  do:\n    - a: { set: { b: 1 } }\n';
  const asObject = await create(nested);
  expect(asObject).toMatchObject({ name: 'nested', tags: ['a'], problems: [] });
  expect((await textOf(asObject.id)).body).toMatch(/^document:\n[\s\S]*\ndo:\n {2}- a:\n/);
  const asText = await create(`name: as-text\ndefinition: |\n  # mine\n  do:\n    - a: { set: { b: 1 } }\n`);
  expect((await textOf(asText.id)).body).toBe('# mine\ndo:\n  - a: { set: { b: 1 } }\n');
  const inJson = await ada.post('/workflows', { name: 'in-json', definition: TEXT });
  expect([inJson.status, (await textOf(inJson.body.id)).body]).toEqual([201, TEXT]);
  const set = await ada.post(
    '/apply',
    'set: words\nresources:\n  - kind: workflow\n    name: said\n    definition: |\n' +
      TEXT.replaceAll(/^/gm, '      '),
    yaml(),
  );
  expect([set.status, set.body.plan.map(({ action }: any) => action)]).toEqual([200, ['create']]);
});

test('a comment is a change, the same text is none, and equal JSON keeps the text', async () => {
  const { id } = await create();
  const patch = async (body: unknown, options = {}) =>
    (await ada.patch(`/workflows/${id}`, body, options)).body;
  expect(await patch(TEXT, yaml())).toMatchObject({ revision: 1 });
  const commented = TEXT.replace('only step', 'first step');
  // Another name in the document renames nothing.
  expect(await patch(commented, yaml())).toMatchObject({ revision: 2, name: 'greet' });
  const { definition } = (await ada.get(`/workflows/${id}`)).body;
  expect(await patch({ definition, description: 'Says hello' })).toMatchObject({ revision: 2 });
  expect((await textOf(id)).body).toBe(commented);
  expect((await textOf(id, '?revision=1')).body).toBe(TEXT);
  expect(await patch({ definition: { do: [{ bye: { set: { text: 'bye' } } }] } })).toMatchObject({
    revision: 3,
  });
  expect((await textOf(id)).body).toMatch(/^document:\n {2}dsl: 1.0.3\n/);
  expect((await textOf(id, '?revision=9')).status).toBe(404);
  expect((await textOf(id, '', grace)).status).toBe(404);
});

test('an applied text is unchanged the second time, and changed by a comment', async () => {
  const apply = async (definition: unknown) => {
    const { status, body } = await ada.post('/apply', {
      set: 'texts',
      resources: [{ kind: 'workflow', name: 'applied', definition }],
    });
    return [status, ...(body.plan ?? []).map(({ action, changes }: any) => [action, changes])];
  };
  expect(await apply(TEXT)).toEqual([200, ['create', []]]);
  expect(await apply(TEXT)).toEqual([200, ['unchanged', []]]);
  expect(await apply(`${TEXT}# more\n`)).toEqual([200, ['update', ['definition']]]);
  const { definition } = (await ada.get('/workflows?q=applied')).body[0];
  expect(await apply(definition)).toEqual([200, ['unchanged', []]]);
});

test('problems have the line and the column of their place, also when they are read again', async () => {
  const wrong = TEXT.replace('set:', 'sett:') + '  - ask: { call: agent, with: { agent: nobody } }\n';
  const places = (problems: any[]) => problems.map(({ pointer, line, column }) => [pointer, line, column]);
  const expected = [
    ['/do/0/hello/sett', 5, 7],
    ['/do/1/ask/with/agent', 6, 33],
  ];
  const checked = await ada.post('/workflows/validate', wrong, yaml());
  expect([checked.status, places(checked.body.problems)]).toEqual([200, expected]);
  const { id, problems } = await create(wrong);
  expect(places(problems)).toEqual(expected);
  expect(places((await ada.get(`/workflows/${id}`)).body.problems)).toEqual(expected);
  // In the object, places are those of the body.
  const nested = await ada.post(
    '/workflows/validate',
    `definition:\n${wrong.replaceAll(/^/gm, '  ')}`,
    yaml(),
  );
  expect(places(nested.body.problems)[0]).toEqual(['/do/0/hello/sett', 6, 9]);
  const refused = await ada.post('/workflows', `name: x\ndefinition: {}\ntags:\n  - a\n  - 1\n`, yaml());
  expect([refused.status, refused.body.errors]).toEqual([
    422,
    [expect.objectContaining({ pointer: '/tags/1', line: 5, column: 5 })],
  ]);
  const nameless = await ada.post('/workflows', 'do: []', yaml());
  expect([nameless.status, nameless.body.errors[0].pointer]).toEqual([422, '/name']);
});

test('a mistake in the text is 400 with its place, in a text inside of JSON 422', async () => {
  const duplicate = `${TEXT}do: []\n`;
  const bare = await ada.post('/workflows', duplicate, yaml());
  expect([bare.status, bare.body.code, bare.body.errors]).toEqual([
    400,
    'duplicate_key',
    [expect.objectContaining({ pointer: '', line: 6, column: 1 })],
  ]);
  expect(bare.body.detail).toContain('line 6, column 1: "do" is there already');
  const inside = await ada.post('/workflows', { name: 'x', definition: duplicate });
  expect([inside.status, inside.body.errors]).toEqual([
    422,
    [expect.objectContaining({ pointer: '/definition', code: 'duplicate_key', line: 6, column: 1 })],
  ]);
  const wrong = [[1], 'a text', 7, null];
  for (const definition of wrong)
    expect((await ada.post('/workflows', { name: 'x', definition })).status).toBe(422);
  expect((await ada.post('/workflows', '', yaml())).status).toBe(422);
  expect((await ada.post('/workflows', '- a', yaml())).status).toBe(422);
});

test.each([
  ['a billion laughs', 'too_many_aliases'],
  ['deep', 'too_deep'],
  ['many words', 'yaml_too_large'],
  ['large', 'yaml_too_large'],
  ['a cycle', 'malformed_yaml'],
  ['another schema', 'unknown_tag'],
])('a hostile text is refused, in a body and as a text: %s', async (title, code) => {
  const letters = [...'abcdefghi'];
  const texts: Record<string, string> = {
    'a billion laughs': letters
      .map(
        (letter, n) =>
          `${letter}: &${letter} [${Array(9)
            .fill(n === 0 ? 'lol' : `*${letters[n - 1] ?? ''}`)
            .join(',')}]`,
      )
      .join('\n'),
    deep: `do: ${'['.repeat(5_000)}`,
    'many words': `do: [${'a,'.repeat(250_000)}]`,
    large: `do: []\nx: ${'x'.repeat(600_000)}`,
    'a cycle': 'do: &a [*a]',
    'another schema': 'do: !!binary aGk=',
  };
  const text = texts[title] ?? '';
  // Large bodies of one person would wait for each other.
  const mallory = await app.as(await app.createUser());
  const oscar = await app.as(await app.createUser());
  const [bare, inside] = await Promise.all([
    mallory.post('/workflows/validate', text, yaml()),
    oscar.post('/workflows/validate', { definition: text }),
  ]);
  expect([bare.status, bare.body.code]).toEqual([400, code]);
  expect([inside.status, inside.body.errors[0].code]).toEqual([422, code]);
});

test('the texts of a set have a bound together, and other endpoints take no YAML', async () => {
  const padded = `${TEXT}# ${'x'.repeat(300_000)}\n`;
  const resources = ['one', 'two'].map((name) => ({ kind: 'workflow', name, definition: padded }));
  const mallory = await app.as(await app.createUser());
  const { status, body } = await mallory.post('/apply', { set: 'large', resources });
  expect([status, body.errors[0]]).toMatchObject([422, { code: 'yaml_too_large' }]);
  expect((await ada.post('/agents', 'name: x', yaml())).status).toBe(415);
});

test('the schema for editors has the inputs of agents that the caller can use, and no others', async () => {
  const agent = (name: string, visibility: string, more: object = {}) => ({
    name,
    visibility,
    type: 'api',
    version: '1.0.0',
    configuration: { endpoint: 'https://example.com/' },
    input_schema: {
      type: 'object',
      required: ['city'],
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
    },
    ...more,
  });
  const own = await grace.post('/agents', agent('forecast', 'private'));
  await grace.post('/agents', agent('shared', 'public', { description: 'For everybody' }));
  expect(own.status).toBe(201);
  const [asGrace, asAda, asNobody] = await Promise.all(
    [grace, ada, app.anonymous].map((client) => client.get('/schemas/workflow.json')),
  );
  expect([asGrace, asAda, asNobody].map((answer) => answer?.status)).toEqual([200, 200, 200]);
  const names = ({ body }: any): string[] =>
    [...JSON.stringify(body).matchAll(/"const":"(forecast|shared)"/g)].map(([, name]) => name ?? '');
  expect(new Set(names(asGrace))).toEqual(new Set(['forecast', 'shared']));
  expect(new Set(names(asAda))).toEqual(new Set(['shared']));
  expect(names(asNobody)).toEqual([]);
  expect(asNobody?.headers.get('cache-control')).toContain('public');
  expect(asAda?.headers.get('cache-control')).toContain('private');

  const etag = asGrace?.headers.get('etag') ?? '';
  const again = (client: Client) =>
    client.get('/schemas/workflow.json', { headers: { 'if-none-match': etag } });
  expect([(await again(grace)).status, (await again(ada)).status]).toEqual([304, 200]);

  const { violations } = await import('../../../language/schema/validate-json.ts');
  const call = (input: unknown, name = 'forecast') => ({
    do: [{ ask: { call: 'agent', with: { agent: name, input } } }],
  });
  const fits = (definition: unknown) => violations(asGrace?.body, definition).length === 0;
  expect(
    [
      call({ city: 'Bonn', days: 3 }),
      call({ city: 'Bonn', days: '${ .days }' }),
      call('${ .place }'),
      call({ anything: 1 }, 'not-in-the-list'),
      call({ days: 3 }),
      call({ city: 'Bonn', days: 'three' }),
    ].map(fits),
  ).toEqual([true, true, true, true, false, false]);
});
