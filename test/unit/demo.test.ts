/** `npm run demo` against a server that refuses it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';

import { sendJson, startServer } from '../support/http-server.ts';

const program = join(import.meta.dirname, '../../examples/demo.mjs');

async function demo(cadenza: string): Promise<{ code: number; stderr: string }> {
  const child = spawn(process.execPath, [program], {
    env: { CADENZA: cadenza, CADENZA_PASSWORD: 'another' },
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code, stderr };
}

test('it says in one line what is wrong, and how to give another password', async () => {
  let isLoggedIn = false;
  const refusal = { error: 'invalid_grant', error_description: 'The credentials are incorrect.' };
  const server = await startServer(({ path }, response) => {
    if (path !== '/auth/token') sendJson(response, { detail: 'No.' }, 403);
    else if (isLoggedIn) sendJson(response, { access_token: 'x' });
    else sendJson(response, refusal, 400);
  });
  expect(await demo(server.url)).toEqual({
    code: 1,
    stderr:
      'The log-in as admin was refused: The credentials are incorrect. ' +
      'If its password is another, set CADENZA_PASSWORD to the password of admin.\n',
  });
  isLoggedIn = true;
  const { code, stderr } = await demo(server.url);
  // A single line, also if something has port 4000 already.
  expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.not.stringContaining('Error:')]]);
  await server.close();
});
