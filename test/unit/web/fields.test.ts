import { expect, test } from '@jest/globals';

import {
  fieldsOf,
  filledValue,
  firstEntries,
  problemsByField,
} from '../../../web/src/ui/schema-form/fields.ts';

const schema = {
  type: 'object',
  required: ['amount', 'reason'],
  properties: {
    amount: { type: 'number', title: 'Amount to refund', default: 5 },
    count: { type: 'integer' },
    reason: { enum: ['not_delivered', 7, null] },
    channel: { oneOf: [{ const: 'm', title: 'Mail' }, { const: 'p' }] },
    tell: { type: 'boolean', default: true },
    note: { type: 'string', maxLength: 5_000 },
    day: { type: 'string', format: 'date' },
    tags: { type: 'array', items: { enum: ['a', 'b', 'c'] }, default: ['b'] },
    'first/line': { type: 'object' },
  },
};

test('each property is a field of a fitting kind, with a label', () => {
  expect(fieldsOf(schema).map(({ name, label, kind, required }) => [name, label, kind, required])).toEqual([
    ['amount', 'Amount to refund', 'number', true],
    ['count', 'Count', 'integer', false],
    ['reason', 'Reason', 'choice', true],
    ['channel', 'Channel', 'choice', false],
    ['tell', 'Tell', 'boolean', false],
    ['note', 'Note', 'long-text', false],
    ['day', 'Day', 'date', false],
    ['tags', 'Tags', 'choices', false],
    ['first/line', 'First/line', 'json', false],
  ]);
});

test('a form starts with the defaults, and what is left empty is left out', () => {
  const entries = firstEntries(schema);
  expect(entries).toMatchObject({ amount: '5', reason: '', tell: true, tags: [1] });
  expect(filledValue(fieldsOf(schema), entries)).toEqual({
    value: { amount: 5, tell: true, tags: ['b'] },
    unreadable: [],
  });
});

test('what was entered becomes values of the right type', () => {
  const entered = {
    amount: '560.5',
    count: ' 3 ',
    reason: '1',
    channel: '0',
    tell: false,
    note: 'two\nlines',
    day: '2026-05-31',
    tags: [2, 0],
    'first/line': '{"x": 1}',
  };
  expect(filledValue(fieldsOf(schema), entered).value).toEqual({
    amount: 560.5,
    count: 3,
    reason: 7,
    channel: 'm',
    tell: false,
    note: 'two\nlines',
    day: '2026-05-31',
    tags: ['a', 'c'],
    'first/line': { x: 1 },
  });
});

test('what cannot be read is named by its pointer', () => {
  expect(filledValue(fieldsOf(schema), { amount: 'much', 'first/line': '{' }).unreadable).toEqual([
    { pointer: '/amount', message: 'must be a number' },
    { pointer: '/first~1line', message: 'must be JSON' },
  ]);
});

test('a problem belongs to its field, also deep inside, and each field shows one', () => {
  const { ofFields, others } = problemsByField(fieldsOf(schema), [
    { pointer: '/first~1line/deep/0', message: 'one' },
    { pointer: '/first~1line', message: 'two' },
    { pointer: '', message: 'three' },
    { pointer: '/amounts', message: 'four' },
  ]);
  expect([[...ofFields], others]).toEqual([[['first/line', 'one']], ['three', 'four']]);
});

test('a schema that describes no object has no fields', () => {
  for (const none of [null, undefined, {}, { type: 'string' }, { properties: [] }])
    expect(fieldsOf(none as never)).toEqual([]);
});
