import { expect, test } from '@jest/globals';
import { violations } from '../../../../language/schema/validate-json.ts';
import { formErrors, inputFault } from '../../../../language/schema/form-errors.ts';

const form = {
  type: 'object',
  required: ['amount', 'reason'],
  properties: {
    amount: { type: 'integer', minimum: 1, maximum: 100 },
    reason: { type: 'string', minLength: 1, title: 'Reason for the purchase' },
    unit_price: { type: 'number', exclusiveMinimum: 0 },
    costCentre: { enum: ['sales', 'it'] },
    until: { type: 'string', format: 'date' },
    address: { type: 'object', required: ['street'], properties: { street: { type: 'string' } } },
    lines: { type: 'array', title: 'Order lines', maxItems: 3, items: { $ref: '#/$defs/line' } },
    tags: { type: 'array', uniqueItems: true, items: { type: 'string', maxLength: 3 } },
  },
  additionalProperties: false,
  $defs: {
    line: { type: 'object', properties: { price: { title: 'Net price', type: 'number', minimum: 2 } } },
  },
};

test.each<[unknown, string[]]>([
  [
    { amount: 0 },
    ['/payload/amount: Amount must be at least 1', '/payload/reason: Reason for the purchase is missing'],
  ],
  [
    { amount: 101, reason: '' },
    [
      '/payload/reason: Reason for the purchase must not be empty',
      '/payload/amount: Amount must be at most 100',
    ],
  ],
  [
    { amount: 'two', reason: 1 },
    [
      '/payload/amount: Amount must be a whole number',
      '/payload/reason: Reason for the purchase must be text',
    ],
  ],
  [{ amount: 1, reason: 'x', unit_price: 0 }, ['/payload/unit_price: Unit price must be more than 0']],
  [
    { amount: 1, reason: 'x', costCentre: 'hr' },
    ['/payload/costCentre: Cost centre must be one of sales, it'],
  ],
  [{ amount: 1, reason: 'x', until: 'soon' }, ['/payload/until: Until must be a date such as 2026-05-31']],
  [{ amount: 1, reason: 'x', address: {} }, ['/payload/address/street: Street in Address is missing']],
  [
    { amount: 1, reason: 'x', lines: [{}, { price: 1 }] },
    ['/payload/lines/1/price: Net price in entry 2 of Order lines must be at least 2'],
  ],
  [
    { amount: 1, reason: 'x', lines: [{}, {}, {}, {}] },
    ['/payload/lines: Order lines must have at most 3 entries'],
  ],
  [
    { amount: 1, reason: 'x', tags: ['long'] },
    ['/payload/tags/0: Entry 1 of Tags must have at most 3 characters'],
  ],
  [{ amount: 1, reason: 'x', tags: ['a', 'a'] }, ['/payload/tags: Tags has the same entry twice']],
  [
    { amount: 1, reason: 'x', 'extra/field': 1 },
    ['/payload/extra~1field: Extra/field is not part of the form'],
  ],
  ['a text', ['/payload: The form must be a set of fields']],
])('the form %j gets readable errors', (payload, expected) => {
  const messages = formErrors(form, violations(form, payload)).map(
    ({ pointer, message }) => `${pointer}: ${message}`,
  );
  expect(messages.toSorted()).toEqual(expected.toSorted());
});

test('every keyword has a message that names the field and no schema', () => {
  const field = (schema: Record<string, unknown>, value: unknown): string => {
    const sized = { properties: { size: schema } };
    const [error] = formErrors(sized, violations(sized, { size: value }));
    return error?.message ?? '';
  };
  const faults: [Record<string, unknown>, unknown][] = [
    [{ const: 3 }, 4],
    [{ pattern: '^a$' }, 'b'],
    [{ format: 'ipv4' }, 'x'],
    [{ maximum: 1 }, 2],
    [{ exclusiveMaximum: 1 }, 1],
    [{ multipleOf: 2 }, 3],
    [{ minItems: 2 }, []],
    [{ minProperties: 1 }, {}],
    [{ maxProperties: 0 }, { a: 1 }],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }],
    [{ contains: { type: 'string' } }, []],
    [{ anyOf: [{ type: 'string' }, { minimum: 4 }] }, 3],
    [{ oneOf: [{}, {}] }, 3],
    [{ not: {} }, 3],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }],
    [{ type: ['string', 'null'] }, 1],
    [{ minLength: 2 }, 'a'],
    [false as never, 1],
  ];
  for (const [schema, value] of faults) {
    const message = field(schema, value);
    expect(message).toMatch(/^(Size|B in Size) [a-z]/);
    expect(message).not.toMatch(/instance|schema|undefined|null(?! or)/i);
  }
});

test('a wrong format is named by an example', () => {
  const at = { type: 'string', pattern: '^\\d\\d:\\d\\d$', examples: [7, '22:00'] };
  const days = { type: 'object', properties: { at: { $ref: '#/$defs/at' }, site: { format: 'uri' } } };
  const shown = { $defs: { at }, properties: { days: { type: 'array', items: days } } };
  const wrong = { days: [{ at: '10pm', site: 'x' }] };
  expect(formErrors(shown, violations(shown, wrong)).map(({ message }) => message)).toEqual([
    'At in entry 1 of Days must have a format such as 22:00',
    'Site in entry 1 of Days must be a web address such as https://example.com',
  ]);
});

test('a fault in an input of the API is said of its pointer, in the same words', () => {
  const schema = {
    required: ['site'],
    properties: { id: { type: 'string' }, size: { maximum: 3 }, kind: { anyOf: [{ const: 1 }] } },
    additionalProperties: false,
  };
  const found = violations(schema, { id: 1, size: 4, kind: 2, other: true });
  expect(found.map((one) => `${one.pointer}: ${inputFault(one)}`).toSorted()).toEqual([
    '/id: must be text',
    '/kind: fits none of the alternatives, or more than one',
    '/kind: must be 1',
    '/other: is not allowed here',
    '/size: must be at most 3',
    ': "site" is missing',
  ]);
  const unchecked = { pointer: '', message: 'Checking this takes too many steps.' };
  expect(inputFault(unchecked)).toBe(unchecked.message);
});
