import { expect, test } from '@jest/globals';
import { decodedOnce, encodedTwice, isPythonClient } from '../../../api/a2a/python-files.ts';

const bytes = Buffer.from([0, 255, 13, 10, 7]);
const once = bytes.toString('base64');
const twice = Buffer.from(once).toString('base64');
const message = (fileWithBytes: string) => ({
  role: 'ROLE_USER',
  content: [{ text: 'x' }, { file: { fileWithBytes, name: 'a' } }, { data: { data: { fileWithBytes } } }],
  metadata: { fileWithBytes },
});

test('files are encoded twice for the Python client, both ways; data and metadata are left alone', () => {
  expect(decodedOnce(message(twice))).toEqual({
    ...message(twice),
    content: [
      { text: 'x' },
      { file: { fileWithBytes: once, name: 'a' } },
      { data: { data: { fileWithBytes: twice } } },
    ],
  });
  expect(decodedOnce(encodedTwice(message(once)))).toEqual(message(once));
  expect(encodedTwice({ task: { artifacts: [{ parts: [{ file: { file_with_bytes: once } }] }] } })).toEqual({
    task: { artifacts: [{ parts: [{ file: { file_with_bytes: twice } }] }] },
  });
});

test('a file that is encoded once is left as it is', () => {
  for (const text of [once, '', 'not base64!', Buffer.from('a,b\n').toString('base64')])
    expect(decodedOnce({ file: { fileWithBytes: text } })).toEqual({ file: { fileWithBytes: text } });
});

test('isPythonClient() recognizes the user agent of the Python client', () => {
  expect(['python-httpx/0.28.1', 'node', '', 'curl/8'].map(isPythonClient)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
