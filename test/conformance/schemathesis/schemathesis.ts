/** schemathesis against the real API: sends generated requests to every endpoint of the OpenAPI document. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { decodeJwt, SignJWT } from 'jose';

import { isMedia } from '../../../api/endpoint.ts';
import { createClient, startTestApp, type TestApp } from '../../support/app.ts';

const version = '4.32.5';
/** These may end the session of the requests, after which all others would get 401. */
const endingSessions = [
  'updateUser',
  'changeMyPassword',
  'revokeToken',
  'deleteMySession',
  'deleteUserSession',
  'deleteUserSessions',
];
const installMs = 120_000;
const hooks = {
  SCHEMATHESIS_HOOKS: 'short_waits',
  PYTHONPATH: import.meta.dirname,
  PYTHONDONTWRITEBYTECODE: '1',
};
const run = promisify(execFile);

export interface Outcome {
  ok: boolean;
  output: string;
}

/** The program, installed from PyPI into the user's cache if needed, or why there is none. */
export async function findSchemathesis(): Promise<{ program: string } | { missing: string }> {
  const folder = join(homedir(), '.cache', 'cadenza', `schemathesis-${version}`);
  const program = join(folder, 'bin', 'schemathesis');
  if (existsSync(program)) {
    return { program };
  }
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: installMs });
    await run(join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${version}`], {
      timeout: installMs,
    });
    return { program };
  } catch (error) {
    return { missing: String(error).split('\n')[0] ?? '' };
  }
}

/** The same token, valid for two hours: 15 minutes can be too short on a busy machine. */
async function lastingToken({ app }: TestApp, token: string): Promise<string> {
  const { kid, privateKey } = await app.deps.keys.current();
  return new SignJWT(decodeJwt(token))
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setExpirationTime('2h')
    .sign(privateKey);
}

/**
 * Runs it as an administrator. `examples` is the number of generated requests an endpoint; `seed` makes a run
 * repeatable. No 5xx, nothing off its schema, nothing undeclared, no invalid request accepted.
 */
export async function runSchemathesis(
  program: string,
  options: { examples: number; seed?: number; part: 'most' | 'ending-sessions' },
): Promise<Outcome> {
  const app = await startTestApp();
  // Another administrator, so that requests which change users do not shut us out.
  await app.createUser({ username: 'spare', roles: ['admin'] });
  const admin = await app.createUser({ username: 'tester', roles: ['admin'] });
  const token = await lastingToken(app, admin.token);
  // A stream would be a request that never ends.
  const streams = app.app.endpoints
    .filter(({ responses }) =>
      Object.values(responses).some(
        (declared) => declared !== null && isMedia(declared) && declared.media['text/event-stream'],
      ),
    )
    .map(({ operationId }) => operationId);
  const args = [
    'run',
    `${app.url}/openapi.json`,
    '--url',
    app.url,
    '--header',
    `Authorization: Bearer ${token}`,
    '--max-examples',
    String(options.examples),
    '--continue-on-failure',
    '--checks',
    'all',
    // These findings concern what JSON Schema cannot express: taken names, definitions with a mistake, other
    // formats.
    '--exclude-checks',
    'positive_data_acceptance,object_level_authorization',
    '--phases',
    'examples,coverage,fuzzing,stateful',
    '--request-timeout',
    '75',
    '--max-response-time',
    '75',
    // It parses YAML before it compares the text with its schema, a string.
    '--exclude-operation-id',
    'getWorkflowText',
    '--no-color',
    '--generation-database',
    'none',
    ...(options.seed === undefined ? [] : ['--seed', String(options.seed)]),
    ...streams.flatMap((id) => ['--exclude-operation-id', id]),
    ...endingSessions.flatMap((id) => [
      options.part === 'most' ? '--exclude-operation-id' : '--include-operation-id',
      id,
    ]),
  ];
  try {
    // schemathesis writes files into its working directory.
    const child = spawn(program, args, {
      cwd: await mkdtemp(join(tmpdir(), 'cadenza-schemathesis-')),
      env: { ...process.env, ...hooks },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const [code] = await once(child, 'close');
    if (options.part === 'most') {
      const { status } = await createClient(app.url, token).get('/users/me');
      if (status !== 200)
        return { ok: false, output: `${output}\nAn operation has ended the session of the requests.` };
    }
    return { ok: code === 0, output };
  } finally {
    await app.close();
  }
}
