/** Completion knows where the cursor is, also in a text that is not finished. */
import { describe, expect, test } from '@jest/globals';

import { completionsAt, secretsAt } from '../../../web/src/screens/editor/completions.ts';
import { cursorInJson } from '../../../web/src/screens/editor/cursor-json.ts';
import { cursorInYaml } from '../../../web/src/screens/editor/cursor-yaml.ts';

const registry = {
  agents: [
    { name: 'researcher', versions: ['2.0.0', '1.0.0'] },
    { name: 'writer', versions: [] },
  ],
  secrets: ['SHOP_KEY'],
  groups: ['finance'],
  users: ['ada'],
};
const definition = {
  use: { functions: { audit: {} }, secrets: ['DECLARED'] },
  do: [{ first: { set: {} } }, { last: { set: {} } }],
};

/** The labels that are offered at the `‸` of a text. */
function offered(text: string): string[] {
  const offset = text.indexOf('‸');
  const whole = text.replace('‸', '');
  const cursor = (text.startsWith('{') ? cursorInJson : cursorInYaml)(whole, offset);
  if (cursor === null) return [];
  return completionsAt(cursor, definition, registry)
    .map(({ label }) => label)
    .filter((label) => label.startsWith(cursor.typed));
}

describe.each([
  [
    'JSON',
    (task: string) => `{"do": [{"ask": {${task}`,
    {
      top: '{"do": [], ‸',
      call: '"call": "‸',
      agent: '"call": "agent", "with": {"agent": "‸',
      version: '"call": "agent", "with": {"agent": "researcher", "version": "‸"',
      arguments: '"call": "human", "with": {"title": "x", "de‸',
      group: '"call": "human", "with": {"candidates": {"groups": ["‸',
      context: '"call": "human", "with": {"context": ["‸',
      then: '"set": {}, "then": "‸"',
      kind: '"‸',
      rest: '"set": {"a": 1}, "‸',
    },
  ],
  [
    'YAML',
    (task: string) => `do:\n  - ask:\n${task.replaceAll(/^/gm, '      ')}`,
    {
      top: 'do: []\n‸',
      call: 'call: ‸',
      agent: 'call: agent\nwith:\n  agent: ‸',
      version: 'call: agent\nwith:\n  agent: researcher\n  version: ‸',
      arguments: 'call: human\nwith:\n  title: |-\n    a: text\n  de‸',
      group: 'call: human\nwith:\n  candidates:\n    groups:\n      - ‸',
      context: 'call: human\nwith:\n  context:\n    - ‸',
      then: 'set: {}\nthen: ‸',
      kind: '‸',
      rest: 'set: 1\n‸',
    },
  ],
])('in %s', (_name, inTask, at) => {
  test('the parts of a definition and of a task', () => {
    expect(offered(at.top)).toEqual(expect.arrayContaining(['use', 'input', 'output']));
    expect(offered(inTask(at.kind))).toEqual(expect.arrayContaining(['call', 'fork', 'set', 'if']));
    const rest = offered(inTask(at.rest));
    expect(rest).toContain('export');
    expect(rest).not.toContain('call');
  });

  test('functions, their arguments, and tasks to go on with', () => {
    const functions = ['agent', 'human', 'map', 'http', 'openapi', 'a2a', 'grpc', 'asyncapi', 'mcp', 'audit'];
    expect(offered(inTask(at.call))).toEqual(functions);
    expect(offered(inTask(at.arguments))).toEqual(['description', 'decisions', 'delegate']);
    expect(offered(inTask(at.context))).toEqual(['first', 'last']);
    expect(offered(inTask(at.then))).toEqual(['continue', 'exit', 'end', 'first', 'last']);
  });

  test('agents with their versions, and groups', () => {
    expect(offered(inTask(at.agent))).toEqual(['researcher', 'writer']);
    expect(offered(inTask(at.version))).toEqual(['2.0.0', '1.0.0']);
    expect(offered(inTask(at.group))).toEqual(['finance']);
  });
});

test('nothing is offered in data and in texts of several lines', () => {
  expect(offered('{"do": [{"ask": {"set": {"x": "‸')).toEqual([]);
  expect(offered('do:\n  - ask:\n      set:\n        x: |-\n          call‸')).toEqual([]);
});

test('the names of secrets follow $secrets in any text', () => {
  expect(secretsAt('"key": "${ $secrets.SH', definition, registry)).toEqual({
    typed: 'SH',
    names: ['DECLARED', 'SHOP_KEY'],
  });
  expect(secretsAt('"key": "$secret', definition, registry)).toBeNull();
});
