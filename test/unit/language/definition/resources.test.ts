import { expect, test } from '@jest/globals';
import { rawAddress, type Resource } from '../../../../language/definition/resources.ts';
import { validateDefinition } from '../../../../language/definition/validate.ts';

const CALL = 'log:1.0.0@mine';
const base = {
  use: {
    secrets: ['KEY'],
    functions: { pay: { set: { paid: true } } },
    catalogs: { mine: { endpoint: 'https://example.com/catalog/' } },
  },
  do: [{ tell: { call: CALL, with: { text: 'hi' } } }],
};

function resource(document: unknown, more: Partial<Resource> = {}): Resource {
  const url = 'https://example.com/catalog/functions/log/1.0.0/function.yaml';
  return {
    kind: 'function',
    name: CALL,
    url,
    pointer: '/do/0/tell/call',
    digest: 'sha256:00',
    bytes: 10,
    document,
    ...more,
  };
}

test('names what a definition takes from elsewhere, with its address', () => {
  const { references } = validateDefinition(
    { ...base, input: { schema: { resource: { endpoint: 'https://example.com/s.json' } } } },
    { resources: [] },
  );
  expect(references.resources).toEqual([
    {
      kind: 'schema',
      name: 'https://example.com/s.json',
      url: 'https://example.com/s.json',
      pointer: '/input/schema/resource',
    },
    {
      kind: 'function',
      name: CALL,
      url: 'https://example.com/catalog/functions/log/1.0.0/function.yaml',
      pointer: '/do/0/tell/call',
    },
  ]);
});

test.each([
  [
    'https://github.com/o/r/tree/main/f/function.yaml',
    'https://raw.githubusercontent.com/o/r/main/f/function.yaml',
  ],
  [
    'https://github.com/o/r/functions/a/function.yaml',
    'https://raw.githubusercontent.com/o/r/HEAD/functions/a/function.yaml',
  ],
  ['https://gitlab.com/o/r/-/blob/main/f.yaml', 'https://gitlab.com/o/r/-/raw/main/f.yaml'],
  ['https://example.com/o/r/tree/main/f.yaml', 'https://example.com/o/r/tree/main/f.yaml'],
])('%s is read at %s', (address, raw) => {
  expect(rawAddress(address)).toBe(raw);
});

test.each([{ set: { text: '${ .text }' } }, { log: { set: { text: '${ .text }' } } }])(
  'a fetched function %j is part of what runs, and of nothing that is written',
  (document) => {
    const { definition, executable, problems, runnable } = validateDefinition(base, {
      resources: [resource(document)],
    });
    expect({ problems, runnable }).toEqual({ problems: [], runnable: true });
    expect(executable?.use?.functions).toEqual({
      ...base.use.functions,
      [CALL]: { set: { text: '${ .text }' } },
    });
    expect(definition.use?.functions).toEqual(base.use.functions);
  },
);

test.each([
  ['a mistake', { set: { a: '${ .b | foo }' } }, 'expression'],
  [
    'a secret',
    { call: 'http', with: { method: 'get', endpoint: 'https://x.y/${ $secrets.KEY }' } },
    'secret_in_fetched_function',
  ],
  [
    'a secret of an authentication',
    {
      call: 'http',
      with: { method: 'get', endpoint: { uri: 'https://x.y', authentication: { bearer: { use: 'KEY' } } } },
    },
    'secret_in_fetched_function',
  ],
  [
    'an authentication of the definition',
    {
      call: 'http',
      with: { method: 'get', endpoint: { uri: 'https://x.y', authentication: { use: 'shop' } } },
    },
    'secret_in_fetched_function',
  ],
  [
    'a schema with an authentication',
    {
      set: { a: 1 },
      input: {
        schema: {
          resource: {
            endpoint: { uri: 'https://x.y/s.json', authentication: { bearer: { use: 'KEY' } } },
          },
        },
      },
    },
    'secret_in_fetched_function',
  ],
  ['a function of the definition', { call: 'pay' }, 'own_function_in_fetched_function'],
  ['no task', { hello: 'world' }, 'not_a_function'],
  ['itself', { call: CALL }, 'function_cycle'],
])('a fetched function with %s is refused where it is called', (_, document, code) => {
  const { problems, valid } = validateDefinition(base, { resources: [resource(document)] });
  expect(valid).toBe(false);
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        code,
        pointer: '/do/0/tell/call',
        message: expect.stringContaining('https://example.com/catalog/functions/log/1'),
      }),
    ]),
  );
  expect(problems.every(({ pointer }) => pointer === '/do/0/tell/call')).toBe(true);
});

test.each([
  { use: 'shop' },
  { bearer: { use: 'KEY' } },
  { basic: { username: 'a', password: '${ $secrets.KEY }' } },
])('nothing is fetched with %j because a fetched function says so', (authentication) => {
  const schema = (endpoint: unknown) => ({
    set: { a: 1 },
    input: { schema: { resource: { endpoint } } },
  });
  const resourcesOf = (document: object) =>
    validateDefinition(
      { ...base, use: { ...base.use, authentications: { shop: { bearer: { use: 'KEY' } } } } },
      { resources: [resource(document)] },
    ).references.resources;
  expect(resourcesOf(schema({ uri: 'https://x.y/s.json', authentication }))).toEqual([]);
  expect(resourcesOf(schema('https://x.y/s.json'))).toHaveLength(1);
});

test('a fetched schema runs as the document, and its mistakes are those of the resource', () => {
  const definition = {
    input: { schema: { format: 'json', resource: { endpoint: 'https://example.com/s.json' } } },
    do: [{ a: { set: { b: 1 } } }],
  };
  const schema = (document: unknown): Resource =>
    resource(document, {
      kind: 'schema',
      name: 'https://example.com/s.json',
      url: 'https://example.com/s.json',
    });
  const good = validateDefinition(definition, { resources: [schema({ type: 'object' })] });
  expect([good.problems, good.input_schema]).toEqual([[], { type: 'object' }]);
  expect(good.executable?.input?.schema).toEqual({ format: 'json', document: { type: 'object' } });
  const bad = validateDefinition(definition, {
    resources: [schema({ properties: { a: { type: 'nonsense' } } })],
  });
  expect(bad.problems).toEqual([
    expect.objectContaining({
      code: 'json_schema',
      pointer: '/input/schema/resource',
      message: expect.stringContaining('https://example.com/s.json at /properties/a/type: not a valid'),
    }),
  ]);
});

test('in loose mode a text of data is an expression if it compiles', () => {
  const { executable, problems } = validateDefinition({
    evaluate: { mode: 'loose' },
    do: [{ a: { set: { name: '.name', greeting: 'Hello world', kept: '${ .kept }', wrong: '$nobody' } } }],
  });
  expect(problems).toEqual([]);
  expect(executable?.do).toEqual([
    {
      a: {
        set: {
          name: '${ try (\n.name\n) catch ".name" }',
          greeting: 'Hello world',
          kept: '${ .kept }',
          wrong: '$nobody',
        },
      },
    },
  ]);
});

test('loose mode opens no way for secrets', () => {
  const { problems } = validateDefinition({
    use: { secrets: ['KEY'] },
    evaluate: { mode: 'loose' },
    do: [{ a: { set: { name: '$secrets.KEY' } } }],
  });
  expect(problems).toEqual([
    expect.objectContaining({ code: 'secret_exposed', pointer: '/do/0/a/set/name' }),
  ]);
});
