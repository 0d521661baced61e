import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createSensitive } from '../../../adapters/secrets/sensitive.ts';
import { renderTemplate } from '../../../adapters/secrets/templates.ts';
import { splitTemplate } from '../../../language/split-template.ts';
import { expandTemplate, expandUri } from '../../../language/uri-template.ts';

test.each([
  ['plain', ['plain']],
  ['${ .a }', ['${ .a }']],
  ['a${.b}c${.d}', ['a', '${.b}', 'c', '${.d}']],
  ['${ {a: {b: "}"}} }x', ['${ {a: {b: "}"}} }', 'x']],
  ['${ "\\(.a | "}\\(.b)")}" }x', ['${ "\\(.a | "}\\(.b)")}" }', 'x']],
  ['${ .a # } "\n}x', ['${ .a # } "\n}', 'x']],
  ['${ .a', ['${ .a']],
])('splitting %j ends an expression where jq ends it', (text, parts) => {
  expect(splitTemplate(text).map(({ source }) => source)).toEqual(parts);
});

test('a secret arrives unchanged and is never evaluated, whatever it holds', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({ unit: 'binary' }),
      (secret, data) => {
        const sensitive = createSensitive(new Map([['KEY', secret]]));
        const render = (text: string) => renderTemplate(text, { data }, sensitive, 'body');
        expect(render('<KEY>')).toBe(secret);
        expect(render('a <KEY> ${ .data } z')).toBe(`a ${secret} ${data} z`);
        expect(render('${ "<KEY>|\\(.data)" }')).toBe(`${secret}|${data}`);
      },
    ),
    { seed: 20260801 },
  );
});

test('data is never taken for a placeholder or a template', () => {
  const sensitive = createSensitive(new Map([['KEY', 'secret-value']]));
  const input = { text: '<KEY> ${ .x } \\(.x) {x}' };
  expect(renderTemplate({ a: ['${ .text }'], b: 'x ${ .text } <KEY>' }, input, sensitive, 'body')).toEqual({
    a: [input.text],
    b: `x ${input.text} secret-value`,
  });
});

test('a value stays inside its path segment, and decodes to itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      fc.pre(value.isWellFormed() && value !== '' && value !== '.' && value !== '..');
      const url = new URL(expandUri('https://api.example/v1/{id}/end?q={id}#f', { id: value }));
      const segments = url.pathname.split('/');
      expect([url.host, url.hash, segments.length, segments[1], segments[3]]).toEqual([
        'api.example',
        '#f',
        4,
        'v1',
        'end',
      ]);
      expect(decodeURIComponent(segments[2] ?? '')).toBe(value);
      expect(decodeURIComponent(url.search.slice(3))).toBe(value);
    }),
    { seed: 20260801 },
  );
});

test.each([
  ['/a/{x}', { x: '..' }],
  ['/a/.{x}/b', { x: '.' }],
  ['/a/{x}{y}', { x: '.', y: '.' }],
  ['/{x}', { x: '.' }],
])('in %s, the values %j cannot lead to another path', (template, values) => {
  expect(() => expandUri(`https://api.example${template}`, values)).toThrow('another path');
});

test('only the literal parts of a text are expanded, and an inserted value is no expression', () => {
  const values = { id: '${ 1 }', 'a.b': 'x/y', n: 0 };
  expect(expandTemplate('https://h/{id}/${ {id: 2}.id }?q={a.b}&n={n}&none={none}', values)).toBe(
    'https://h/%24%7B%201%20%7D/${ {id: 2}.id }?q=x%2Fy&n=0&none=',
  );
  expect(expandTemplate('${ .uri + "/{id}" }', values)).toBe('${ .uri + "/{id}" }');
  expect(() => expandTemplate('https://h/${ .a | "/?" }/{x}', { x: '..' })).toThrow('another path');
});

test('redaction hides a secret in every usual form, and leaves short words alone', () => {
  const sensitive = createSensitive(
    new Map([
      ['KEY', 'a"b c/dé'],
      ['SHORT', 'abc'],
      ['LONGER', 'a"b c/dé-and-more'],
    ]),
  );
  expect(sensitive.redact('x a"b c/dé y')).toBe('x <KEY> y');
  expect(sensitive.redact(encodeURIComponent('a"b c/dé'))).toBe('<KEY>');
  expect(sensitive.redact(JSON.stringify({ k: 'a"b c/dé' }))).toBe('{"k":"<KEY>"}');
  expect(sensitive.redact('a"b c/dé-and-more')).toBe('<LONGER>');
  expect(sensitive.redact('abc')).toBe('abc');
});
