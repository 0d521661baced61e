/** The editor reads texts as the server reads them, and knows where in them everything stands. */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';

import { checkText } from '../../../web/src/screens/editor/check.ts';
import { layOutJson, readJson } from '../../../web/src/screens/editor/json-text.ts';
import { mergePatchOf } from '../../../web/src/screens/editor/merge-patch.ts';
import { placeOf, taskAt } from '../../../web/src/screens/editor/places.ts';
import { hasComments, layOutYaml, readYaml } from '../../../web/src/screens/editor/yaml-text.ts';
import { mergePatch } from '../../../api/conditional.ts';
import { writeYaml } from '../../../language/yaml/write-yaml.ts';

test('JSON is read as JSON.parse reads it, at every place', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const { value: read, problems, places } = readJson(text);
      expect([JSON.stringify(read), problems]).toEqual([JSON.stringify(JSON.parse(text)), []]);
      for (const { start, end } of places.values()) expect(text.slice(start, end)).not.toBe('');
    }),
  );
});

test.each([
  ['{"a": 1,}', 'This comma is one too many.', ','],
  ['{"a" 1}', 'A colon is missing after "a".', '"a"'],
  ['{"a": 1 "b": 2}', 'Expected a comma, not "b"', '"b"'],
  ['{"a": hello}', 'hello is no value: a text needs quotation marks.', 'hello'],
  ['{"a": "open\n}', 'This text is not closed: a " is missing.', '"open'],
  ['{"a": [1, 2', 'This [ is not closed.', '['],
  ['{"a": 1} 2', 'The text goes on after its end.', '2'],
  ['{a: 1}', 'Expected a name in quotation marks, not a', 'a'],
  ['', 'The text is empty.', ''],
])('%j is refused in a sentence that points at the place', (text, message, marked) => {
  const { value, problems } = readJson(text);
  expect(value).toBeUndefined();
  expect(problems.map((problem) => [problem.message, text.slice(problem.from, problem.to)])).toEqual([
    [message, marked],
  ]);
});

test('a name that is there twice is a warning', () => {
  const { value, problems } = readJson('{"a": 1, "a": 2}');
  expect(value).toEqual({ a: 2 });
  expect(problems).toEqual([{ from: 9, to: 12, message: '"a" is here twice; the last one counts.' }]);
});

test('YAML is read as the server reads it', () => {
  const text = 'do:\n  - first:\n      set: &s { a: 1 }\n  - second:\n      set: *s\n';
  const { value, problems, places } = readYaml(text);
  expect([value, problems]).toEqual([parse(text), []]);
  const place = placeOf(places, '/do/0/first');
  expect(text.slice(place?.from, place?.to)).toBe('first');
  const broken = readYaml('do: [1,\nx: 2');
  expect(broken.value).toBeUndefined();
  expect(broken.problems[0]?.message).toMatch(/\.$/);
  expect(readYaml('').problems[0]?.message).toBe('The text is empty.');
});

test('what is written as YAML is the same definition', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      expect(readYaml(writeYaml(plain)).value).toEqual(plain);
    }),
  );
});

test.each([
  ['a: 1 # why\n', true],
  ['# why\na: 1\n', true],
  ['a: | # why\n  text\n', true],
  ['a: [1, # why\n 2]\n', true],
  ['a: [\n  # broken\n', true],
  ['a: b#c\nd: "# e"\nf: \'# g\'\n', false],
  ['a: |\n  # text\nb: >\n  # text\n', false],
  ['|\n# text\n', false],
  ['{"a": "# b"}', false],
])('%j has comments: %j', (text, expected) => {
  expect(hasComments(text)).toBe(expected);
});

test('a text is laid out without a change of what it says', () => {
  expect(layOutJson('{"n":1.50,"big":12345678901234567890,"l":[],"o":{ },"a":[1,{"b":null}]}')).toBe(
    [
      '{',
      '  "n": 1.50,',
      '  "big": 12345678901234567890,',
      '  "l": [],',
      '  "o": {},',
      '  "a": [',
      '    1,',
      '    {',
      '      "b": null',
      '    }',
      '  ]',
      '}',
      '',
    ].join('\n'),
  );
  expect(layOutYaml('do:   # why\n    - a:   {set:   {b: 1}}\n')).toContain('# why');
  expect(layOutYaml('a: [')).toBeNull();
});

test('problems are those of the server, each at its place', () => {
  const text = '{"do": [{"ask": {"call": "human", "with": {}, "expxort": {}}}]}';
  const known = [
    { pointer: '/do/0/ask', code: 'x', message: 'only the server knows', severity: 'error' as const },
  ];
  const { problems, valid, definition, tasks } = checkText(readJson(text), 'test', known);
  expect([valid, definition]).toEqual([false, JSON.parse(text)]);
  const shown = problems.map(({ message, from, to }) => [message, text.slice(from, to)]);
  expect(shown).toContainEqual(['only the server knows', '"ask"']);
  expect(shown).toContainEqual([expect.stringContaining('did you mean "export"?'), '"expxort"']);
  expect(taskAt(tasks, text.indexOf('human'))).toBe('/do/0/ask');
  expect(taskAt(tasks, 0)).toBeNull();
});

test('a merge patch turns one definition into the other, and names the nulls that it cannot set', () => {
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), fc.jsonValue({ maxDepth: 3 }), {
    maxKeys: 3,
  });
  fc.assert(
    fc.property(object, object, (before, after) => {
      const plain = (value: unknown): any => JSON.parse(JSON.stringify(value));
      const { patch, lost } = mergePatchOf(plain(before), plain(after));
      if (lost.length === 0) expect(mergePatch(plain(before), patch)).toEqual(plain(after));
      else expect(JSON.stringify(after)).toContain('null');
    }),
  );
  expect(mergePatchOf({ a: 1 }, { b: { c: null } })).toEqual({ patch: { a: null, b: {} }, lost: ['/b/c'] });
});
