/** The input of a run is checked by the server's validator, whether it is entered as fields or as JSON. */
import { beforeAll, expect, test } from '@jest/globals';

import {
  firstInput,
  formOf,
  prepareFields,
  prepareJson,
  refusedFields,
} from '../../../web/src/ui/start-form/input.ts';
import { firstMarks, readMarks } from '../../../web/src/ui/start-form/marks.ts';
import { loadCheck } from '../../../web/src/ui/schema-form/form-check.ts';

beforeAll(loadCheck);

const schema = {
  type: 'object',
  required: ['order'],
  properties: {
    order: { type: 'string', title: 'Order', minLength: 3 },
    amount: { type: 'integer', title: 'Amount' },
  },
};

test('a schema without fields is asked for as JSON', () => {
  expect(formOf(schema)).toBe(schema);
  for (const other of [null, true, undefined, {}, { type: 'object' }]) expect(formOf(other)).toBeNull();
  // What no field could enter.
  expect(formOf({ ...schema, required: ['order', 'customer'] })).toBeNull();
});

test('fields make the input, and each problem stands at its field', () => {
  expect(prepareFields(schema, { order: 'A-1', amount: '7' })).toEqual({
    input: { order: 'A-1', amount: 7 },
    problems: [],
  });
  expect(prepareFields(schema, { order: '', amount: 'many' }).problems).toEqual([
    { pointer: '/amount', message: 'must be a number' },
    { pointer: '/order', message: 'Order is missing' },
  ]);
});

test('JSON is read, and has to be an object that fits the schema', () => {
  expect(prepareJson(null, '')).toEqual({ input: {}, problems: [] });
  expect(prepareJson(null, '{"a": [1]}')).toEqual({ input: { a: [1] }, problems: [] });
  expect(prepareJson(null, '{"a"').problems).toEqual([{ pointer: '', message: 'This is not JSON.' }]);
  expect(prepareJson(null, '[1]').problems).toHaveLength(1);
  expect(prepareJson({ required: ['order'] }, '{}').problems).toMatchObject([{ pointer: '/order' }]);
});

test("problems of a refused start point at the form's fields", () => {
  expect(
    refusedFields([
      { pointer: '/input_params/order', message: 'too short' },
      { pointer: '/input_params', message: 'all wrong' },
    ]),
  ).toEqual([
    { pointer: '/order', message: 'too short' },
    { pointer: '', message: 'all wrong' },
  ]);
});

test('a run is started again with the input that it had, and what no field shows is kept', () => {
  const asked = {
    type: 'object',
    required: ['amount'],
    properties: { amount: { type: 'number', title: 'Amount' }, note: { type: 'string', default: 'none' } },
  };
  const { entries, rest, text } = firstInput(asked, { amount: 5, trace: 'x' });
  expect(prepareFields(asked, entries, rest)).toEqual({
    input: { amount: 5, note: 'none', trace: 'x' },
    problems: [],
  });
  expect(prepareFields(asked, { ...entries, amount: '' }, rest).problems).toEqual([
    { pointer: '/amount', message: 'Amount is missing' },
  ]);
  expect(JSON.parse(text)).toEqual({ amount: 5, trace: 'x' });
  expect(firstInput(null, undefined)).toEqual({ entries: {}, text: '', rest: {} });
});

test('key, tags and labels are read as people write them, and what is wrong with them names them', () => {
  expect(readMarks({ key: ' A-1 ', tags: 'urgent, ,by mail', labels: 'team = sales,note=a=b, odd' })).toEqual(
    {
      key: 'A-1',
      tags: ['urgent', 'by mail'],
      labels: { team: 'sales', note: 'a=b', odd: '' },
    },
  );
  expect(readMarks(firstMarks(undefined))).toEqual({});
  const like = { tags: ['urgent'], labels: { team: 'sales' } };
  expect(readMarks(firstMarks(like))).toEqual(like);
  expect(refusedFields([{ pointer: '/labels/-x', message: 'is no name' }])).toEqual([
    { pointer: '', message: 'Labels: is no name' },
  ]);
});
