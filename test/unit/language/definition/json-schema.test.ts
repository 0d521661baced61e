import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { definitionSchema } from '../../../../language/definition/json-schema.ts';
import { violations } from '../../../../language/schema/validate-json.ts';
import { jsonSchemaProblems } from '../../../../language/schema/well-formed.ts';
import { correct } from './correct.ts';
import { mistakes } from './mistakes.ts';

const schema = definitionSchema('https://cadenza.example.com/schemas/workflow.json');
const examples = join(import.meta.dirname, '../../../../examples');

test('the schema is well-formed, and small enough for an editor', () => {
  expect(jsonSchemaProblems(schema).filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(JSON.stringify(schema).length).toBeLessThan(100_000);
});

test('it accepts the correct definition, with and without its document', () => {
  const { document: _, ...rest } = correct();
  expect([violations(schema, correct()), violations(schema, rest)]).toEqual([[], []]);
});

test.each(readdirSync(examples).filter((file) => file.endsWith('.json')))('it accepts %s', (file) => {
  expect(violations(schema, JSON.parse(readFileSync(join(examples, file), 'utf8')))).toEqual([]);
});

/** Problems of a shape: a wrong property, type, word or kind of task. */
const OF_SHAPE = /^error (?:unknown_property|wrong_type|required|not_allowed|unknown_task|task_item) /;
/** What depends on other values, or on whether a text is an expression; only the validator finds these. */
const BEYOND = [
  'emit with an attribute unknown to CloudEvents',
  'emit in another version of CloudEvents',
  'listen with filters that cannot fit',
  'an unknown HTTP method',
  'headers as a text',
  'the grant password without one',
  'a client without id, and private_key_jwt without assertion',
  'an agent call with a text as "stream"',
];

test('it refuses what the validator refuses in shape, and nothing that is only a warning', () => {
  const accepted: string[] = [];
  for (const { title, change, expected } of mistakes) {
    const definition = correct();
    change(definition);
    const refused = violations(schema, definition).length > 0;
    if (!refused && expected.some((problem) => OF_SHAPE.test(problem))) accepted.push(title);
    // The schema does not know that a definition may have a function of this name.
    if (refused && !title.startsWith('a function of its own'))
      expect([title, expected.join()]).toEqual([title, expect.stringContaining('error')]);
  }
  expect(accepted).toEqual(BEYOND);
});
