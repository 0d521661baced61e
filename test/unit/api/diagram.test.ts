/* oxlint-disable unicorn/no-thenable -- `then` is a property of the DSL */
import { readdirSync, readFileSync } from 'node:fs';

import { expect, test } from '@jest/globals';

import { textWidth } from '../../../language/diagram/layout.ts';
import { drawingOf } from '../../../language/diagram/drawing.ts';
import { toMermaid } from '../../../api/diagram/mermaid.ts';
import { toSvg } from '../../../api/diagram/svg.ts';
import { correct } from '../language/definition/correct.ts';

test('the Mermaid diagram shows tasks, scopes and the flow between them', () => {
  const text = toMermaid(correct());
  const lines = text.split('\n').map((line) => line.trim());
  expect(lines[0]).toBe('flowchart TD');
  expect(lines).toEqual(
    expect.arrayContaining([
      'start --> t1',
      't6 -->|"yes"| t7',
      't6 -->|"no"| t8',
      't9 --> finish',
      'subgraph t4["both · fork"]',
    ]),
  );
  expect(lines.filter((line) => line.startsWith('subgraph'))).toHaveLength(
    lines.filter((line) => line === 'end').length,
  );
  // refuse raises: nothing follows it.
  expect(lines.some((line) => line.startsWith('t8 -->'))).toBe(false);
});

test('the SVG is well formed and the same each time', () => {
  const svg = toSvg(correct());
  expect(svg).toBe(toSvg(correct()));
  expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')).toBe(true);
  const opened = [...svg.matchAll(/<(?!\/)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)].filter(
    ([, , closed]) => closed === '',
  ).length;
  expect(opened).toBe([...svg.matchAll(/<\/[a-z]+>/g)].length);
});

test.each([
  ['every kind', correct()],
  ['names with slashes', { do: [{ 'a/b~c': { do: [{ inner: { set: { a: 1 } } }] } }] }],
  ['a listener', { do: [{ l: { listen: { to: {} }, foreach: { do: [{ take: { set: { a: 1 } } }] } } }] }],
])('each task of the picture knows its place in the definition: %s', (_, definition) => {
  const tasks = drawingOf(definition).parts.flatMap((part) => (part.kind === 'task' ? [part.task] : []));
  expect(tasks.length).toBeGreaterThan(1);
  for (const { pointer, name, kind } of tasks) {
    const path = pointer
      .slice(1)
      .split('/')
      .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
    expect(path.at(-1)).toBe(name);
    const found = path.reduce((value: any, key) => value[key], definition);
    expect(Object.keys(found)).toContain(kind);
  }
});

test('a picture says how many tasks it leaves out, also in inner lists', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ [`t${index}`]: { set: {} } }));
  expect(drawingOf({ do: many(10) }).omitted).toBe(0);
  expect(drawingOf({ do: [{ all: { do: many(600) } }, { last: { set: {} } }] }).omitted).toBe(102);
});

interface TextBox {
  text: string;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Where the texts of a picture stand, their widths estimated generously. */
function textBoxes(svg: string): TextBox[] {
  return [
    ...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)" font-size="(\d+)"[^>]*text-anchor="(\w+)">([^<]*)</g),
  ].map(([, x, y, size, anchor, text = '']) => {
    const width = textWidth(text, Number(size));
    const left = Number(x) - (anchor === 'middle' ? width / 2 : 0);
    return { text, left, right: left + width, top: Number(y) - Number(size), bottom: Number(y) + 2 };
  });
}
const overlap = (a: TextBox, b: TextBox): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

const branching = {
  do: [
    {
      decide: {
        switch: [
          { 'approved by everybody': { when: '.a', then: 'publish' } },
          { rejected: { when: '.b', then: 'revise' } },
          { later: { when: '.c', then: 'end' } },
        ],
      },
    },
    { publish: { set: { a: 1 }, if: '.a', then: 'end' } },
    { revise: { call: 'human', with: { title: 'Revise' }, then: 'decide' } },
    {
      many: {
        switch: Array.from({ length: 9 }, (_, index) => ({
          [`case number ${index}`]: { when: '.a', then: index % 2 === 0 ? 'decide' : 'publish' },
        })),
      },
    },
    {
      inner: {
        try: [
          {
            pick: {
              switch: [
                { one: { when: '.a', then: 'last' } },
                { two: { when: '.b', then: 'exit' } },
                { three: { then: 'last' } },
              ],
            },
          },
          { middle: { set: { a: 1 } } },
          { last: { set: { a: 1 } } },
        ],
        catch: { then: 'publish' },
      },
    },
    { finally: { switch: [{ again: { when: '.a', then: 'decide' } }, { otherwise: { then: 'exit' } }] } },
  ],
};
const examples = readdirSync(new URL('../../../examples', import.meta.url)).filter((name) =>
  name.endsWith('.json'),
);

test.each(['switches of every kind', ...examples])(
  'in the SVG of %s, texts do not overlap and stay inside the picture',
  (name) => {
    const read = (): { definition?: unknown } =>
      JSON.parse(readFileSync(new URL(`../../../examples/${name}`, import.meta.url), 'utf8'));
    const example = examples.includes(name) ? read() : { definition: branching };
    const svg = toSvg(example.definition ?? example);
    const boxes = textBoxes(svg);
    expect(boxes.length).toBeGreaterThan(0);
    const covered = boxes.flatMap((one, index) =>
      boxes
        .slice(index + 1)
        .filter((other) => overlap(one, other))
        .map((other) => `${one.text} / ${other.text}`),
    );
    expect(covered).toEqual([]);
    const width = Number(/width="([\d.]+)"/.exec(svg)?.[1]);
    expect(boxes.filter(({ left, right }) => left < 0 || right > width)).toEqual([]);
  },
);

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

/** A line of a Mermaid diagram; its texts hold no character that Mermaid or HTML would interpret. */
const MERMAID_LINE = new RegExp(
  `^ *(?:${[
    String.raw`subgraph t\d+(?:_\d+)?\["[^"<>&]*"\]`,
    'end',
    String.raw`(?:start|finish)\(\((?:start|end)\)\)`,
    String.raw`t\d+[[({>/]*"[^"<>&]*"[\])}/]*`,
    String.raw`\w+ -->(?:\|"[^"<>&]*"\|)? \w+`,
  ].join('|')})$`,
);

test.each(HOSTILE)('the diagrams escape a text of the author: %j', (name) => {
  const definition = {
    do: [
      { [name]: { call: 'http', with: { method: 'get', endpoint: name } } },
      { s: { switch: [{ [name]: { when: '.a', then: name } }] } },
      { f: { for: { in: name }, do: [{ [name]: { set: { a: 1 } } }] } },
    ],
  };
  const mermaid = toMermaid(definition);
  for (const line of mermaid.trim().split('\n').slice(1)) {
    expect(line).toMatch(MERMAID_LINE);
  }
  const svg = toSvg(definition);
  expect(svg).not.toMatch(/<script|<img|onerror=[^<]*>[^<]*<(?!\/text)/);
  expect(
    [...svg.matchAll(/<([a-z]+)/g)]
      .map(([, tag]) => tag)
      .filter((tag) => !['svg', 'defs', 'marker', 'path', 'rect', 'circle', 'text'].includes(tag ?? '')),
  ).toEqual([]);
  expect(svg).not.toMatch(/[\p{Cs}]/u);
  expect(svg).not.toContain('\0');
});

test.each([
  null,
  5,
  'x',
  [],
  {},
  { do: 5 },
  { do: [null, 5, 'x', {}, { a: null }, { b: [] }, { c: { do: [[]] } }] },
])('a broken draft has a diagram: %j', (draft) => {
  expect(toMermaid(draft)).toContain('start');
  expect(toSvg(draft)).toContain('</svg>');
});

test('the diagrams of a huge definition are cut off at a limit', () => {
  const definition = {
    do: Array.from({ length: 20_000 }, (_, index) => ({ [`t${index}`]: { set: { a: 1 } } })),
  };
  expect(toSvg(definition).length).toBeLessThan(500_000);
  expect(toMermaid(definition).split('\n').length).toBeLessThan(1100);
});
