/** Names of fields that are given with `-i`. */
import { expect, test } from '@jest/globals';

import type { Cli } from '../../../cli/core/cli.ts';
import { readForm } from '../../../cli/core/form.ts';

// Without a file, the form needs nothing of the command line.
const cli = {} as Cli;
const read = (schema: unknown, ...pairs: string[]): Promise<unknown> =>
  readForm(cli, { pairs, file: undefined }, schema, { what: 'form' });

const city = { type: 'object', properties: { city: { type: 'string' } } };
const properties = { limit: { type: 'integer' }, address: city, 'a.b': { type: 'string' } };

test('a field that the schema has not is refused, with the one that is probably meant', async () => {
  await expect(read({ properties }, 'limt=5')).rejects.toMatchObject({
    message: '-i limt=5: the form has no field limt, did you mean "limit"?',
    exitCode: 2,
  });
  await expect(read({ properties }, 'address.ciyt=Bonn')).rejects.toThrow(
    'the form has no field address.ciyt, did you mean "city"?',
  );
  await expect(read({ properties, additionalProperties: false }, 'x=5')).rejects.toThrow(
    'the form has no field x. It has: limit, address, a.b',
  );
  expect(await read({ properties }, 'limit=5', 'address.city=Bonn', 'a.b=c')).toEqual({
    limit: 5,
    address: { city: 'Bonn' },
    'a.b': 'c',
  });
});

test.each([
  [{ properties, additionalProperties: true }],
  [{ properties, additionalProperties: { type: 'string' } }],
  [{ properties, patternProperties: { '^x': {} } }],
  [{ properties, anyOf: [{ properties: { other: {} } }] }],
  [{ properties, required: ['other'] }],
  [{ properties, dependentRequired: { limit: ['other'] } }],
  [{ properties, minProperties: 4 }],
  [{ type: 'object' }],
  [true],
  [null],
])('what may have other fields gets them: %j', async (schema) => {
  expect(await read(schema, 'other=5')).toEqual({ other: 5 });
});
