/* oxlint-disable unicorn/no-thenable -- `then` is a property of the DSL */
import { expect, test } from '@jest/globals';
import { validateDefinition } from '../../../../language/definition/validate.ts';
import { processorClock } from '../../../support/machine.ts';

function codes(definition: unknown): string[] {
  return validateDefinition(definition).problems.map(({ code }) => code);
}

test.each([null, undefined, 5, 'do', [], true])('%j is refused as a definition', (value) => {
  const result = validateDefinition(value);
  expect(result.problems).toEqual([
    { pointer: '', code: 'wrong_type', message: 'a definition is an object with "do"', severity: 'error' },
  ]);
  expect(result.valid).toBe(false);
});

test('deep nesting is refused, however deep', () => {
  let task: object = { set: { a: 1 } };
  for (let depth = 0; depth < 30_000; depth++) task = { do: [{ inner: task }] };
  expect(codes({ do: [{ outer: task }] })).toEqual(['too_deep']);
});

test('a definition over the size limit is refused', () => {
  expect(codes({ do: [{ a: { set: { text: 'x'.repeat(2_000_000) } } }] })).toEqual(['too_big']);
  expect(codes({ do: [{ a: { set: { list: Array.from({ length: 1_000_000 }, () => 0) } } }] })).toEqual([
    'too_big',
  ]);
});

test('a definition with too many tasks is refused by one problem', () => {
  const definition = {
    do: Array.from({ length: 5000 }, (_, index) => ({ [`t${index}`]: { set: { a: 1 } } })),
  };
  expect(codes(definition)).toEqual(['too_many_tasks']);
});

test('the list of problems is cut off at a limit', () => {
  const definition = {
    do: Array.from({ length: 1500 }, (_, index) => ({ [`t${index}`]: { sett: { a: 1 } } })),
  };
  const found = codes(definition);
  expect(found).toHaveLength(21);
  expect(found.at(-1)).toBe('too_many_problems');
});

test('a definition stays valid however many warnings it has', () => {
  const texts = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, '.json']));
  const result = validateDefinition({ do: [{ a: { set: texts } }, { b: { sett: 1 } }] });
  expect(result.problems.filter(({ severity }) => severity === 'warning')).toHaveLength(20);
  expect(result.problems.filter(({ severity }) => severity === 'error')).toHaveLength(1);
  expect(validateDefinition({ do: [{ a: { set: texts } }] }).runnable).toBe(true);
});

test('many schemas with many unknown keywords are checked in time', () => {
  const document = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`requir${index}`, 1]));
  const spentMs = processorClock();
  validateDefinition({
    do: Array.from({ length: 1000 }, (_, index) => ({
      [`t${index}`]: { set: { a: 1 }, input: { schema: { document } } },
    })),
  });
  expect(spentMs()).toBeLessThan(30_000);
});

test('names of Object.prototype are ordinary names, or refused', () => {
  const hostile: unknown = JSON.parse('{"do": [{"__proto__": {"set": {"a": 1}}}]}');
  expect(codes(hostile)).toEqual(['forbidden_name']);
  expect(
    codes({
      do: [{ constructor: { set: { toString: 1, hasOwnProperty: 2 } } }, { toString: { call: 'valueOf' } }],
    }),
  ).toEqual(['unknown_function']);
  expect(codes({ do: [{ a: { raise: { error: 'constructor' } } }] })).toEqual(['unknown_error']);
  expect(codes({ do: [{ a: { set: { b: 1 }, timeout: 'toString' } }] })).toEqual(['unknown_timeout']);
});

test('long unknown names are checked in time', () => {
  const keys = Object.fromEntries(
    Array.from({ length: 3000 }, (_, index) => [`${'k'.repeat(100)}${index}`, 1]),
  );
  const spentMs = processorClock();
  validateDefinition({ ...keys, do: [{ a: { set: { b: 1 }, ...keys } }] });
  validateDefinition({
    use: { errors: keys, secrets: Object.keys(keys) },
    do: Array.from({ length: 1000 }, (_, index) => ({ [`t${index}`]: { raise: { error: `e${index}` } } })),
  });
  expect(spentMs()).toBeLessThan(15_000);
});

test('a chain of jumps is checked in time', () => {
  const list = Array.from({ length: 1900 }, (_, index) => ({
    [`t${index}`]: { set: { a: 1 }, then: index === 0 ? 't1899' : `t${index - 1}` },
  }));
  const spentMs = processorClock();
  expect(codes({ do: list })).toEqual(['endless_loop']);
  expect(spentMs()).toBeLessThan(10_000);
});

test('a missing document is completed from the name of the workflow', () => {
  const definition = { do: [{ a: { set: { b: 1 } } }] };
  const result = validateDefinition(definition, { name: 'Größte Bestellung: №1 (neu)!' });
  expect(result.problems).toEqual([]);
  expect(result.definition.document).toEqual({
    dsl: '1.0.3',
    namespace: 'default',
    name: 'gro-te-bestellung-no1-neu',
    version: '0.1.0',
  });
  expect(definition).not.toHaveProperty('document');
  expect(validateDefinition(definition, { name: '注文' }).definition.document.name).toBe('workflow');
  expect(validateDefinition(definition, { name: `${'a'.repeat(62)} b` }).definition.document.name).toBe(
    'a'.repeat(62),
  );
});

test('references to agents, workflows and secrets are collected, but no expressions', () => {
  const { references } = validateDefinition({
    use: { secrets: ['token'], functions: { ask: { call: 'agent', with: { agent: 'helper' } } } },
    do: [
      { a: { call: 'agent', with: { agent: 'checker', version: '1.x', input: {} } } },
      { b: { call: 'agent:1.0.0@default', with: { agent: '${ .agent }' } } },
      { c: { run: { workflow: { namespace: 'default', name: 'other', version: '1.0.0' } } } },
      {
        d: {
          call: 'http',
          with: {
            method: 'get',
            endpoint: { uri: 'https://example.com', authentication: { bearer: { use: 'token' } } },
          },
        },
      },
    ],
  });
  expect(references).toEqual({
    agents: [
      { pointer: '/do/0/a/with/agent', agent: 'checker', version: '1.x' },
      { pointer: '/use/functions/ask/with/agent', agent: 'helper' },
    ],
    workflows: [{ pointer: '/do/2/c/run/workflow', namespace: 'default', name: 'other', version: '1.0.0' }],
    secrets: [{ pointer: '/do/3/d/with/endpoint/authentication/bearer/use', name: 'token' }],
    processes: [],
    resources: [],
  });
});

test('hostile expressions are checked in time', () => {
  const unknown = `\${ ${'foo | '.repeat(8000)}. }`;
  const spentMs = processorClock();
  expect(codes({ do: [{ a: { set: { b: unknown } } }] })).toEqual(
    Array.from({ length: 20 }, () => 'expression'),
  );
  const many = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`k${index}`, '${ foo | bar | $x | $secrets.y }']),
  );
  expect(codes({ do: [{ a: { set: many } }] })).toHaveLength(21);
  expect(codes({ do: [{ a: { if: '.a | '.repeat(100_000), set: { b: 1 } } }] })).toEqual(['expression']);
  expect(spentMs()).toBeLessThan(15_000);
});
