/** The input of an invocation, and the same call for a shell and for an A2A client. */
import { spawnSync } from 'node:child_process';
import { beforeAll, expect, test } from '@jest/globals';

import {
  asA2aMessage,
  asCurl,
  fileFields,
  readInput,
  withAttached,
} from '../../../web/src/screens/agents/invocation.ts';
import { loadCheck } from '../../../web/src/ui/schema-form/form-check.ts';

beforeAll(loadCheck);

const schema = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', title: 'Text' }, count: { type: 'integer', title: 'Count' } },
};

test('the input comes from the form or from the text, and is checked as the server does', () => {
  const form = (entries: Record<string, string>) => readInput(schema, { byForm: true, entries, text: '' });
  const text = (given: string, of = schema as object) =>
    readInput({ ...of }, { byForm: false, entries: {}, text: given });
  expect(form({ text: 'x', count: '2' })).toEqual({ body: { input: { text: 'x', count: 2 } }, problems: [] });
  expect(form({ count: 'many' }).problems.map(({ message }) => message)).toEqual([
    'must be a number',
    'Text is missing',
  ]);
  expect(text('{"text": "x"}')).toEqual({ body: { input: { text: 'x' } }, problems: [] });
  expect(text('{}').problems).toEqual([{ pointer: '/text', message: 'Text is missing' }]);
  expect(text('a line', {}).body).toEqual({ input: 'a line' });
  expect(text(' ', {}).body).toEqual({});
});

test('attached files are fields of the input, or its list of files', () => {
  const file = { file_id: 'f', name: 'a.png', media_type: 'image/png', size: 1, sha256: 's' };
  const of = { type: 'object', required: ['image'], properties: { image: { type: 'object' }, note: schema } };
  expect(fileFields(of)).toEqual(['image']);
  const read = (text: string, field: string | null) =>
    withAttached(readInput({ ...of }, { byForm: false, entries: {}, text }), [{ field, file }]);
  expect(read('{"n": 1}', 'image')).toEqual({ body: { input: { n: 1, image: file } }, problems: [] });
  expect(read('{"files": [1]}', null)).toMatchObject({
    body: { input: { files: [1, file] } },
    problems: [{ pointer: '/image' }],
  });
  expect(read('What is it?', 'image').body).toEqual({ input: { text: 'What is it?', image: file } });
  expect(read('', null).body).toEqual({ input: { files: [file] } });
  expect(withAttached({ body: { input: 'x' }, problems: [] }, [])).toEqual({
    body: { input: 'x' },
    problems: [],
  });
});

test('the command survives a shell', () => {
  const body = { input: { text: `it's "$HOME" \\ new` } };
  const command = asCurl('http://127.0.0.1:1', '/agents/a/invoke', body).replace('curl', `printf '%s\\n'`);
  const { stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8', env: { TOKEN: 'secret' } });
  expect(stdout.split('\n').slice(0, -1)).toEqual([
    'http://127.0.0.1:1/agents/a/invoke',
    '-H',
    'Authorization: Bearer secret',
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify(body),
  ]);
});

test('a text becomes a text part, anything else data', () => {
  const message = (input: unknown) => asA2aMessage('http://x', { id: 'a' }, { input });
  expect(message('hello')).toContain('"parts":[{"text":"hello"}]');
  expect(message({ a: 1 })).toContain('"parts":[{"data":{"a":1}}]');
  expect(message({ a: 1 })).toContain("'http://x/api/v1/a2a/a/message:send'");
});
