/** Refusals of the server in the words of the command line. */
import { expect, test } from '@jest/globals';

import { ApiError } from '../../../client/index.ts';
import { secretEndpoint, secretEndpoints } from '../../../contracts/secret-endpoint.ts';
import { failureLines, failureOf } from '../../../cli/core/errors.ts';
import { fieldsOf, flag, sets, text } from '../../../cli/core/flags.ts';

const refused = (
  status: number,
  problem: Record<string, unknown>,
  headers: Record<string, string> = {},
): ReturnType<typeof failureOf> =>
  failureOf(new ApiError({ code: 'refused', ...problem }, { status, headers: new Headers(headers) }));

test('fields are named by the flag or argument that sets them, if it was typed', () => {
  const typed = new Map([
    ['password', '--password-stdin'],
    ['status', '--status'],
    ['created_after', '--after'],
    ['until', 'UNTIL'],
  ]);
  const error = (pointer: string, message: string) => ({ pointer, code: 'invalid', message });
  const one = (pointer: string, detail: string, message: string): string[] =>
    failureLines(refused(422, { detail, errors: [error(pointer, message)] }), { typed });
  expect(one('/password', '/password: is short', 'is short')).toEqual(['error: --password-stdin: is short']);
  expect(one('created_after', 'created_after is no time', 'is no time')).toEqual([
    'error: --after is no time',
  ]);
  expect(one('status/0', 'status/0 must be one of a, b', 'must be one of a, b')).toEqual([
    'error: --status must be one of a, b',
  ]);
  expect(one('/password', 'is short', 'is short')).toEqual(['error: --password-stdin is short']);
  expect(one('/email', '/email: is wrong', 'is wrong')).toEqual(['error: /email: is wrong']);
  // Inside of a field there is more than the flag says.
  expect(one('/until/day', '/until/day: is wrong', 'is wrong')).toEqual(['error: /until/day: is wrong']);
  const both = [error('/until', 'is over'), error('/deputy', 'is you')];
  expect(failureLines(refused(422, { detail: '2 fields are not valid.', errors: both }), { typed })).toEqual([
    'error: 2 fields are not valid.',
    '  UNTIL: is over',
    '  /deputy: is you',
  ]);
});

test('a flag sets the field of its name, of the record that it names, or what it declares', () => {
  expect(fieldsOf('passwordStdin', flag(''))).toContain('password');
  expect(fieldsOf('team', text('', 'TEAM'))).toContain('team_id');
  expect(fieldsOf('role', text('', 'ROLE'))).toContain('roles');
  expect(fieldsOf('expires', text('', 'TIME'))).toEqual(expect.arrayContaining(['expires_at', 'expires_in']));
  expect(fieldsOf('name', sets(text('', 'TEXT'), 'display_name'))).toEqual(['display_name']);
});

test('endpoints in sentences of the server are commands', () => {
  const said = (detail: string): string[] => failureLines(refused(409, { detail }));
  expect(said('there is no secret KEY: store it with PUT /secrets/KEY')).toEqual([
    'error: there is no secret KEY: store it with cadenza secret set KEY',
  ]);
  expect(said('a credential: store it with PUT /secrets/{name}, and')).toEqual([
    'error: a credential: store it with cadenza secret set NAME, and',
  ]);
  const team = '0197a3b2-5c1d-7e8f-9a0b-1c2d3e4f5a6b';
  expect(said(`store it with ${secretEndpoint('KEY', team)}`)).toEqual([
    `error: store it with cadenza secret set KEY --team ${team}`,
  ]);
  expect(said(`store it with ${secretEndpoint('{name}', team)}, and`)).toEqual([
    `error: store it with cadenza secret set NAME --team ${team}, and`,
  ]);
  expect(said(`add it with ${secretEndpoints('KEY')}; it will fault`)).toEqual([
    'error: add it with cadenza secret set KEY, or for a team with cadenza secret set KEY --team TEAM; ' +
      'it will fault',
  ]);
  expect(said('Show your second factor first, at POST /users/me/verify.')).toEqual([
    'error: Show your second factor first, with cadenza session verify.',
  ]);
});

test('what a refusal says beside its sentence is on the next line', () => {
  const holds = { agents: 2, workflows: 0, event_sources: 1 };
  expect(failureLines(refused(409, { detail: 'It owns objects.', holds }))).toEqual([
    'error: It owns objects.',
    '  It holds: agents: 2, event sources: 1',
  ]);
  expect(failureLines(refused(409, { detail: 'A run uses it.', run_id: 'r1' }))).toEqual([
    'error: A run uses it.',
    '  Run: r1',
  ]);
  expect(failureLines(refused(409, { detail: 'Runs use it.', run_ids: ['r1', 'r2'] }))).toEqual([
    'error: Runs use it.',
    '  Runs: r1, r2',
  ]);
  const many = Array.from({ length: 12 }, (_, index) => `r${index}`);
  expect(failureLines(refused(409, { detail: 'Runs use it.', run_ids: many }))).toEqual([
    'error: Runs use it.',
    '  Runs: r0, r1, r2, r3, r4, r5, r6, r7, r8, r9 and 2 more',
  ]);
  const busy = refused(429, { detail: 'Too many.' }, { 'retry-after': '7' });
  expect([failureLines(busy), busy.retry_after_seconds]).toEqual([
    ['error: Too many.', '  Try again in 7 s.'],
    7,
  ]);
});

test('a token of the environment is not followed by the advice to log in', () => {
  const failure = refused(401, { code: 'invalid_token', detail: 'The access token is invalid.' });
  expect(failureLines(failure, { source: 'profile default' })).toEqual([
    'error: The access token is invalid.',
    'Log in first: cadenza login',
  ]);
  expect(failureLines(failure, { source: 'CADENZA_TOKEN' })).toEqual([
    'error: The access token is invalid.',
    'It is the token in CADENZA_TOKEN: set another one, or unset it and log in: cadenza login',
  ]);
});
