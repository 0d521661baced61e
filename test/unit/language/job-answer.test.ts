import { describe, expect, test } from '@jest/globals';
import { jobErrorOf, jobOutputOf, jobStateOf, type JobRules } from '../../../language/job-answer.ts';

const answer = (body: unknown, status = 200) => ({ status, headers: {}, body });

test.each<[unknown, number, string]>([
  [{ status: 'succeeded' }, 200, 'succeeded'],
  [{ status: 'Succeeded' }, 202, 'succeeded'],
  [{ state: 'TIMED_OUT' }, 200, 'failed'],
  [{ phase: 'Timed out' }, 200, 'failed'],
  [{ status: 'starting' }, 200, 'running'],
  [{ status: 'canceled' }, 200, 'failed'],
  [{ done: false }, 200, 'running'],
  [{ done: true, response: 1 }, 200, 'succeeded'],
  [{ done: true, error: { message: 'no' } }, 200, 'failed'],
  [{ id: 7 }, 202, 'running'],
  [{ id: 7 }, 200, 'succeeded'],
  [null, 202, 'running'],
  ['text', 200, 'succeeded'],
  [{ status: 200, state: 'queued' }, 200, 'running'],
])('%j with %i means %s', (body, status, state) => {
  expect(jobStateOf({}, answer(body, status))).toBe(state);
});

describe('rules of the configuration', () => {
  const rules: JobRules = { state: '.job.s', succeeded: ['OK-DONE'], failed: ['kaput'], error: '.job.why' };
  test.each([
    ['ok done', 'succeeded'],
    ['kaput', 'failed'],
    ['succeeded', 'running'],
  ])('%s means %s', (s, state) => {
    expect(jobStateOf(rules, answer({ job: { s } }))).toBe(state);
  });
  test('a boolean is an end or none', () => {
    expect(jobStateOf({ state: '.ready' }, answer({ ready: true }))).toBe('succeeded');
    expect(jobStateOf({ state: '.ready' }, answer({ ready: false }))).toBe('running');
  });
  test('give the reason and the output', () => {
    expect(jobErrorOf(rules, answer({ job: { why: 'x'.repeat(5_000) } }))).toHaveLength(1_000);
    expect(jobOutputOf({ response: { n: '${ .a + $response.status }' } }, answer({ a: 1 }))).toEqual({
      n: 201,
    });
  });
});

test('without rules, the usual keys have output and reason', () => {
  expect(jobOutputOf({}, answer({ status: 'done', result: { n: 1 } }))).toEqual({ n: 1 });
  expect(jobOutputOf({}, answer({ n: 1 }))).toEqual({ n: 1 });
  expect(jobErrorOf({}, answer({ error: { message: 'no paper' } }))).toBe('no paper');
  expect(jobErrorOf({}, answer({ status: 'failed' }))).toBe('');
});
