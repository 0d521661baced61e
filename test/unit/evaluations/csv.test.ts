/** Data sets as CSV: docs/evaluations.md#data-sets-as-csv. */
import { expect, test } from '@jest/globals';

import { CsvProblem, readCsv, type CellSchemas } from '../../../api/routes/evaluations/csv.ts';

const NONE: CellSchemas = { input: null, output: null };
const read = (text: string, schemas = NONE) => readCsv(text, schemas, 1_000).map(({ value }) => value);

test('columns are fields of the input, and what is expected', () => {
  const text =
    '\ufeffid,text,count,expected,weight\r\none,"a ""b"", c",3,true,2\r\n\r\ntwo,"two\nlines",,,\r\n';
  expect(readCsv(text, NONE, 1_000)).toEqual([
    { line: 2, value: { id: 'one', input: { text: 'a "b", c', count: 3 }, expected: true, weight: 2 } },
    { line: 5, value: { id: 'two', input: { text: 'two\nlines' } } },
  ]);
});

test('parts are named by what they are of, or given whole', () => {
  expect(read('input.id,expected.text,expected.tags\n7,x,"[""a""]"')).toEqual([
    { input: { id: 7 }, expected: { text: 'x', tags: ['a'] } },
  ]);
  expect(read('input\tid\nplain text\t1')).toEqual([{ input: 'plain text', id: '1' }]);
  expect(read('text;__proto__\n1,5;2')).toEqual([
    {
      input: Object.fromEntries([
        ['text', '1,5'],
        ['__proto__', 2],
      ]),
    },
  ]);
});

test('the schemas say what stays a text, and numbers that would change stay, too', () => {
  const schemas = {
    input: { properties: { zip: { type: 'string' }, n: { type: 'number' } } },
    output: { type: 'string' },
  };
  expect(
    read('zip,n,other,order,expected\n12345,2.50,007,12345678901234567890,"{""a"": 1}"', schemas),
  ).toEqual([
    {
      input: { zip: '12345', n: 2.5, other: '007', order: '12345678901234567890' },
      expected: '{"a": 1}',
    },
  ]);
});

test.each([
  ['', 'no row with the names'],
  ['a,a\n1,2', 'two columns "a"'],
  ['a,\n1,2', 'without a name'],
  ['input,input.a\n1,2', 'both a column "input"'],
  ['a,b\n1', 'line 2'],
  ['a\n"1', 'no CSV'],
  [Array.from({ length: 501 }, (_, at) => `c${at}`).join(','), 'more than 500 columns'],
])('%j is refused', (text, reason) => {
  expect(() => read(text)).toThrow(CsvProblem);
  expect(() => read(text)).toThrow(reason);
});
