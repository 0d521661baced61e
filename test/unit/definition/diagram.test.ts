/* oxlint-disable unicorn/no-thenable -- `then` is a property of the DSL */
import { expect, test } from '@jest/globals';
import { toMermaid } from '../../../contracts/definition/diagram/mermaid.ts';
import { toSvg } from '../../../contracts/definition/diagram/svg.ts';
import { correct } from './correct.ts';

test('Mermaid shows tasks, scopes and where the flow goes', () => {
  const text = toMermaid(correct());
  const lines = text.split('\n').map((line) => line.trim());
  expect(lines[0]).toBe('flowchart TD');
  expect(lines).toEqual(expect.arrayContaining(['start --> t1', 't6 -->|"yes"| t7', 't6 -->|"no"| t8', 't9 --> finish', 'subgraph t4["both · fork"]']));
  expect(lines.filter((line) => line.startsWith('subgraph'))).toHaveLength(lines.filter((line) => line === 'end').length);
  // refuse raises: nothing follows it.
  expect(lines.some((line) => line.startsWith('t8 -->'))).toBe(false);
});

test('the picture is the same each time, and well formed', () => {
  const svg = toSvg(correct());
  expect(svg).toBe(toSvg(correct()));
  expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')).toBe(true);
  const opened = [...svg.matchAll(/<(?!\/)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)].filter(([, , closed]) => closed === '').length;
  expect(opened).toBe([...svg.matchAll(/<\/[a-z]+>/g)].length);
});

const HOSTILE = [
  '</text><script>alert(1)</script>',
  '"]\nclick t1 "javascript:alert(1)"',
  '"] --> x; %%{init: {"securityLevel":"loose"}}%%',
  'a\u0000b\u202Ec\uD800',
  '<img src=x onerror=alert(1)>',
  '&#60;script&#62;',
  '__proto__',
  'constructor',
];

test.each(HOSTILE)('texts of the author stay texts: %j', (name) => {
  const definition = {
    do: [
      { [name]: { call: 'http', with: { method: 'get', endpoint: name } } },
      { s: { switch: [{ [name]: { when: '.a', then: name } }] } },
      { f: { for: { in: name }, do: [{ [name]: { set: { a: 1 } } }] } },
    ],
  };
  const mermaid = toMermaid(definition);
  for (const line of mermaid.trim().split('\n').slice(1)) {
    expect(line).toMatch(/^ *(?:subgraph t\d+(?:_\d+)?\["[^"<>&]*"\]|end|(?:start|finish)\(\((?:start|end)\)\)|t\d+[[({>/]*"[^"<>&]*"[\])}/]*|\w+ -->(?:\|"[^"<>&]*"\|)? \w+)$/);
  }
  const svg = toSvg(definition);
  expect(svg).not.toMatch(/<script|<img|onerror=[^<]*>[^<]*<(?!\/text)/);
  expect([...svg.matchAll(/<([a-z]+)/g)].map(([, tag]) => tag).filter((tag) => !['svg', 'defs', 'marker', 'path', 'rect', 'circle', 'text'].includes(tag ?? ''))).toEqual([]);
  expect(svg).not.toMatch(/[\p{Cs}]/u);
  expect(svg).not.toContain('\0');
});

test.each([null, 5, 'x', [], {}, { do: 5 }, { do: [null, 5, 'x', {}, { a: null }, { b: [] }, { c: { do: [[]] } }] }])('a broken draft gives a picture too: %j', (draft) => {
  expect(toMermaid(draft)).toContain('start');
  expect(toSvg(draft)).toContain('</svg>');
});

test('a huge definition is drawn up to a limit', () => {
  const definition = { do: Array.from({ length: 20_000 }, (_, index) => ({ [`t${index}`]: { set: { a: 1 } } })) };
  expect(toSvg(definition).length).toBeLessThan(500_000);
  expect(toMermaid(definition).split('\n').length).toBeLessThan(1100);
});
