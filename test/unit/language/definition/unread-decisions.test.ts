import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { validateDefinition } from '../../../../language/definition/validate.ts';

const human = (more: Record<string, unknown> = {}, beside: Record<string, unknown> = {}) => ({
  review: { call: 'human', with: { title: 'Go?', ...more }, ...beside },
});
const greet = { greet: { set: { text: '${ "Hello " + $workflow.input.text }' } } };
const warnings = (tasks: unknown[], more: Record<string, unknown> = {}): string[] =>
  validateDefinition({ do: tasks, ...more }).problems.map(
    ({ code, pointer, severity }) => `${severity} ${code} ${pointer}`,
  );
const warningAt = (pointer: string): string[] => [`warning decision_unread ${pointer}`];

test.each<[string, unknown[], string[]]>([
  ['the next task replaces it', [human(), greet], warningAt('/do/0/review')],
  [
    'the next task waits, and the one after it replaces it',
    [human(), { pause: { wait: 'PT1S' } }, greet],
    warningAt('/do/0/review'),
  ],
  [
    'the next task asks somebody else',
    [human(), { again: { call: 'human', with: { title: 'Really?', decisions: ['ok'] } } }],
    warningAt('/do/0/review'),
  ],
  [
    'an agent gets an input of its own',
    [human(), { go: { call: 'agent', with: { agent: 'a', input: { topic: '${ .payload.topic }' } } } }],
    warningAt('/do/0/review'),
  ],
  ['in a nested list', [{ outer: { do: [human(), greet] } }], warningAt('/do/0/outer/do/0/review')],
  [
    'in a branch',
    [{ both: { fork: { branches: [{ one: { do: [human(), greet] } }] } } }],
    warningAt('/do/0/both/fork/branches/0/one/do/0/review'),
  ],
  ['the next task reads it', [human(), { greet: { set: { text: '${ .decision }' } } }], []],
  [
    'a switch reads it',
    [human(), { which: { switch: [{ no: { when: '.decision == "reject"', then: 'end' } }] } }, greet],
    [],
  ],
  ['it is kept for later', [human({}, { export: { as: '${ . }' } }), greet], []],
  ['it becomes something else', [human({}, { output: { as: '${ .payload }' } }), greet], []],
  ['the next task takes all of it', [human(), { keep: { set: { all: '${ . }' } } }], []],
  ['an agent gets all of it', [human(), { go: { call: 'agent', with: { agent: 'a' } } }], []],
  [
    'the next task may be left out',
    [human(), { greet: { ...greet.greet, if: '${ .payload != null }' } }],
    [],
  ],
  ['it is the output of the list', [human()], []],
  [
    'another person sees it',
    [
      human(),
      { again: { call: 'human', with: { title: 'Really?', decisions: ['ok'], context: ['review'] } } },
    ],
    [],
  ],
  ['there is only one decision', [human({ decisions: ['done'] }), greet], []],
])('an unread decision is detected: %s', (_case, tasks, expected) => {
  expect(warnings(tasks)).toEqual(expected);
});

test('no example and no definition in the docs has an unread decision', () => {
  const root = join(import.meta.dirname, '../../../..');
  const examples = readdirSync(join(root, 'examples'))
    .filter((file) => file.endsWith('.json'))
    .map((file) => readFileSync(join(root, 'examples', file), 'utf8'));
  const documents = ['README.md', 'docs/a2a.md', 'docs/agents.md', 'docs/human-tasks.md'].map((file) =>
    readFileSync(join(root, file), 'utf8'),
  );
  const inDocuments = documents.flatMap((text) =>
    [...text.matchAll(/"definition": (\{"do": [\s\S]*?\]\})\}'/g)].map(([, definition = '']) => definition),
  );
  expect(inDocuments.length).toBeGreaterThan(0);
  for (const text of [...examples, ...inDocuments]) {
    const { problems } = validateDefinition(JSON.parse(text));
    expect(problems.filter(({ code }) => code === 'decision_unread')).toEqual([]);
  }
});
