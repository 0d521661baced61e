import { expect, test } from '@jest/globals';

import { CheckEffort } from '../../../domain/evaluations/checks.ts';
import {
  figuresOf,
  judgeCase,
  marksOf,
  withoutLarge,
  type CaseResult,
} from '../../../domain/evaluations/results.ts';

const judging = (more: { checks?: { name?: string; jq: string }[]; pass?: string } = {}) => ({
  checks: more.checks ?? [],
  pass: more.pass ?? null,
  effort: new CheckEffort(),
});
const answered = (output: unknown, verdict?: unknown) => ({
  ok: true,
  output: { output, ...(verdict === undefined ? {} : { verdict }) },
});

test('an output passes if it equals what is expected, whatever the order of its keys', () => {
  const given = { input: {}, expected: { a: 1, b: [null] } };
  expect(judgeCase(given, answered({ b: [null], a: 1 }), judging())).toMatchObject({
    status: 'passed',
    score: 1,
  });
  expect(judgeCase(given, answered({ a: 1 }), judging())).toMatchObject({
    status: 'failed',
    failed: ['expected'],
  });
  expect(judgeCase({ input: {}, expected: null }, answered(0), judging()).status).toBe('failed');
  expect(judgeCase({ input: {} }, answered(null), judging()).status).toBe('passed');
});

test('checks are jq on the output, with what was given; one that fails does not hold', () => {
  const given = { input: { n: 2 }, expected: 4, checks: [{ jq: 'error("no")' }] };
  const checks = [{ name: 'square', jq: '. == $input.n * $input.n and . == $expected' }, { jq: '. > 5' }];
  expect(judgeCase(given, answered(4), judging({ checks }))).toMatchObject({
    status: 'failed',
    score: 0,
    failed: ['check 2', 'check 3'],
  });
});

test('a judge gives a boolean or a score, and anything else is an error', () => {
  const by = (value: unknown, pass?: string): CaseResult =>
    judgeCase({ input: {} }, answered('x', { value }), judging(pass === undefined ? {} : { pass }));
  expect(by(true)).toMatchObject({ status: 'passed', score: 1 });
  expect(by({ pass: false, score: 0.9 })).toMatchObject({ status: 'failed', score: 0, failed: ['judge'] });
  expect(by({ score: 0.7, reason: 'fine' })).toMatchObject({ status: 'passed', score: 0.7 });
  expect(by({ text: '{"score": 0.2}' })).toMatchObject({ status: 'failed', score: 0.2 });
  expect(by({ rating: 7 }, '.rating / 10')).toMatchObject({ status: 'passed', score: 0.7 });
  expect(by({ text: 'well done' })).toMatchObject({ status: 'error', score: 0, output: 'x' });
  const failed = judgeCase({ input: {} }, answered('x', { error: 'away' }), judging());
  expect(failed).toMatchObject({ status: 'error', error: 'The judge: away' });
});

test('a failed call is an error with its reason', () => {
  const item = { ok: false, error: { title: 'Communication Error', detail: 'refused' } };
  expect(judgeCase({ input: {} }, item, judging())).toMatchObject({
    status: 'error',
    error: 'Communication Error: refused',
  });
  expect(judgeCase({ input: {} }, undefined, judging()).status).toBe('error');
});

test('checks that cost too much do not hold, and leave the others nothing', () => {
  const effort = new CheckEffort();
  const checks = [{ jq: '[range(1e9)] | length > 0' }];
  const status = () => judgeCase({ input: {} }, answered(1), { checks, pass: null, effort }).status;
  expect(status()).toBe('failed');
});

test('figures count cases, weigh scores and compare with the first version', () => {
  const result = (status: CaseResult['status'], score: number, ms: number | null): CaseResult => ({
    status,
    score,
    failed: [],
    output: status,
    latency_ms: ms,
  });
  const results = [
    [result('passed', 1, 10), result('failed', 0, 20)],
    [result('failed', 0, 30), result('passed', 0.5, 40)],
    [result('passed', 1, 20), result('error', 0, null)],
  ];
  expect(figuresOf('2.0.0', 1, [1, 2, 1], results)).toEqual({
    version: '2.0.0',
    passed: 1,
    failed: 1,
    errors: 1,
    score: 0.25,
    latency_ms: { p50: 20, p95: 40 },
    regressed: 2,
    improved: 1,
  });
  expect(results.map(marksOf)).toEqual([
    ['failed', 'regressed', 'differs'],
    ['failed', 'improved', 'differs'],
    ['error', 'regressed', 'differs'],
  ]);
});

test('large values are left out by name', () => {
  const large = { input: 'x'.repeat(20_000), expected: 1 };
  expect(withoutLarge(large, ['input', 'expected'])).toEqual({ expected: 1, omitted: ['input'] });
});
