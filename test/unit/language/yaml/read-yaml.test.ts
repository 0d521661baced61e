/** YAML is read as the value that JSON could say, with places, and with a bound on everything. */
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';

import {
  MAX_YAML_CHARACTERS,
  MAX_YAML_COPIES,
  MAX_YAML_LEXEMES,
  readYaml,
  YamlError,
} from '../../../../language/yaml/read-yaml.ts';
import { writeYaml } from '../../../../language/yaml/write-yaml.ts';
import { processorClock } from '../../../support/machine.ts';

/** `code message line:column` of the first mistake, or the value. */
function read(text: string): unknown {
  try {
    return readYaml(text).value;
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return `${error.code}: ${error.message} ${error.place.line}:${error.place.column}`;
  }
}

test('the schema is the core schema of YAML 1.2: yes and on are texts, 012 is twelve', () => {
  const text =
    'a: yes\nb: on\nc: 012\nd: 0o14\ne: 0x1f\nf: 1e3\ng: ~\nh: Null\ni: True\nj: 2001-12-14\n' +
    'k: !!str 12\nl: 12:30\n404: x\n1.50: y\n"q": >\n  folded\n  text\n';
  const numbers = { c: 12, d: 12, e: 31, f: 1000, g: null, h: null, i: true };
  const texts = { a: 'yes', b: 'on', j: '2001-12-14', k: '12', l: '12:30', q: 'folded text\n' };
  expect(read(text)).toEqual({ ...numbers, ...texts, '404': 'x', '1.50': 'y' });
  expect(read('{"a": [1, {"b": null}], "__proto__": {"c": 1}}')).toEqual(
    JSON.parse('{"a": [1, {"b": null}], "__proto__": {"c": 1}}'),
  );
});

test.each([
  ['a: 1\nb: 2\na: 3', 'duplicate_key: "a" is there already 3:1'],
  ['x: {"a": 1, a: 2}', 'duplicate_key: "a" is there already 1:13'],
  ['1: a\n"1": b', 'duplicate_key: "1" is there already 2:1'],
  ['a:\n\tb: 1', 'malformed_yaml: tabs are not allowed as indentation 2:1'],
  ['a: ]\nb: 1', 'malformed_yaml: unexpected flow-seq-end token in YAML stream 1:4'],
  ['a: *x', 'malformed_yaml: there is no such anchor before 1:4'],
  ['a: &a {b: *a}', 'malformed_yaml: an alias cannot be inside of what it copies 1:11'],
  ['x: &x {a: 1}\ny: {<<: *x}', expect.stringMatching(/^merge_key: .* 2:5$/)],
  ['a: !!binary aGk=', expect.stringMatching(/^unknown_tag: /)],
  ['a: !run rm', 'malformed_yaml: unresolved tag: !run 1:4'],
  ['a: .inf', 'out_of_range: is outside the range of a number 1:4'],
  ['? {a: b}\n: x', 'malformed_yaml: a name must be text 1:3'],
  ['? \n: x', expect.stringMatching(/^malformed_yaml: a name must be text/)],
  ['a: 1\n---\nb: 2', 'malformed_yaml: there may be only one document 2:1'],
  ['%YAML 1.1\n---\na: yes', 'yaml_version: only YAML 1.2 is read 1:1'],
  ['# only a comment\n', 'malformed_yaml: the text is empty 1:1'],
  ['a: b # \0', expect.stringMatching(/NUL/)],
])('%j is refused at its place', (text, expected) => {
  expect(read(text)).toEqual(expected);
});

test('a pointer leads to the place of its name, through aliases, and to the nearest part there is', () => {
  const { placeOf } = readYaml(
    'document:\n  name: x # c\ndo:\n  - a:\n      set: {b: 1, "c/d": [1, 2]}\n' +
      '  - b: &t\n      call: x\n  - c: *t\n',
  );
  const places = ['', '/document/name', '/do/0/a/set/c~1d/1', '/do/0/a/sett', '/do/2/c/call', '/nope'].map(
    (pointer) => Object.values(placeOf(pointer)).join(':'),
  );
  expect(places).toEqual(['1:1', '2:3', '5:30', '4:5', '7:7', '1:1']);
});

test('what is written is read as the same value', () => {
  const shared = { a: 'yes', b: ['1', 1, null, true, '~', ' x', '#', 'a: b', 'two\nlines\n', '\u0000'] };
  const value = { shared, again: shared, '404': {}, empty: [], text: '' };
  expect(read(writeYaml(value))).toEqual(value);
  expect(parse(writeYaml(value))).toEqual(value);
});

const SIZE = 500_000;
const repeated = (text: string, size = SIZE): string => text.repeat(Math.ceil(size / text.length));
const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
for (let n = 1; n < 9; n++)
  bomb.push(
    `${'abcdefghi'[n]}: &${'abcdefghi'[n]} [${Array(10)
      .fill(`*${'abcdefghi'[n - 1]}`)
      .join(',')}]`,
  );

test.each([
  ['brackets', repeated('['), 'too_deep'],
  ['wide and deep', `[${repeated(`${'['.repeat(60)}a${']'.repeat(60)},`, 180_000)}]`, undefined],
  ['fewer brackets', repeated('[', 100_000), 'too_deep'],
  ['braces', repeated('{a: [', 100_000), 'too_deep'],
  ['dashes', repeated('- ', 100_000), 'too_deep'],
  ['question marks', repeated('? ', 100_000), 'too_deep'],
  ['steps', Array.from({ length: 900 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), 'too_deep'],
  ['commas', `[${repeated(',', 150_000)}`, 'malformed_yaml'],
  ['closing brackets', `a: ${repeated(']', 150_000)}`, 'malformed_yaml'],
  ['quotes', repeated('"', 150_000), 'malformed_yaml'],
  ['directives', repeated('%\n', 150_000), 'malformed_yaml'],
  ['documents', repeated('---\n', 150_000), 'malformed_yaml'],
  ['tags', repeated('- !x y\n', 150_000), 'malformed_yaml'],
  ['aliases', `- &a x\n${repeated('- *a\n', 150_000)}`, 'too_many_aliases'],
  ['a billion laughs', bomb.join('\n'), 'too_many_aliases'],
  ['large copies', `a: &a [${repeated('x,', 30_000)}]\nb: [*a]`, 'too_many_aliases'],
  ['names', Array.from({ length: 25_000 }, (_, n) => `k${n}: 1`).join('\n'), undefined],
  ['comments', `a: 1\n${repeated('#\n', 190_000)}`, undefined],
  ['one long text', `a: ${repeated('x ', SIZE)}`, undefined],
  ['too many words', `[${repeated('a,', 300_000)}]`, 'yaml_too_large'],
  ['too much', 'x'.repeat(MAX_YAML_CHARACTERS + 1), 'yaml_too_large'],
])('hostile text is read or refused in bounded time: %s', (_title, text, code) => {
  const clock = processorClock();
  const result = read(text);
  expect(clock()).toBeLessThan(10_000);
  if (code === undefined) expect(result).toEqual(expect.any(Object));
  else expect(result).toEqual(expect.stringMatching(new RegExp(`^${code}: `)));
});

test('places behind aliases of a large text are found in bounded time', () => {
  const chain = Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} {x: *a${n}}`).join('\n');
  const clock = processorClock();
  const { placeOf } = readYaml(`f: [${repeated('x,', 100_000)}]\na0: &a0 {x: 1}\n${chain}`);
  for (let n = 0; n < 200; n++) expect(placeOf(`/a12${'/x'.repeat(13)}`)).toEqual({ line: 2, column: 10 });
  expect(clock()).toBeLessThan(10_000);
});

test('the bounds fit the largest definition that people write', () => {
  expect([MAX_YAML_CHARACTERS, MAX_YAML_LEXEMES, MAX_YAML_COPIES]).toEqual([524_288, 200_000, 10_000]);
  const tasks = Array.from(
    { length: 2_000 },
    (_, n) =>
      `  - task${n}: # ${n}\n      call: http\n      with: { method: get, endpoint: "http://x/${n}" }\n`,
  );
  expect(read(`do:\n${tasks.join('')}`)).toMatchObject({ do: expect.any(Array) });
});
