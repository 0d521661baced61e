import { expect, test } from '@jest/globals';
import { createBodyTurns } from '../../../api/middleware/body-turns.ts';

const MEBIBYTE = 1024 * 1024;

/** A clock that only the test moves. */
function clock() {
  let nowMs = 1_000;
  return { nowMs: () => nowMs, pass: (ms: number) => void (nowMs += ms) };
}

test('a caller whose bodies took too much time is refused, and others are not', async () => {
  const { nowMs, pass } = clock();
  const turns = createBodyTurns(nowMs);
  (await turns.take('greedy', MEBIBYTE)).measure(() => pass(7_000));
  await expect(turns.take('greedy', MEBIBYTE)).rejects.toMatchObject({ code: 'too_much_work' });
  expect((await turns.take('other', MEBIBYTE)).measure(() => 'parsed')).toBe('parsed');
});

test('small bodies never wait', async () => {
  const { nowMs, pass } = clock();
  const turns = createBodyTurns(nowMs);
  (await turns.take('greedy', MEBIBYTE)).measure(() => pass(7_000));
  expect((await turns.take('greedy', 1_000)).measure(() => 'decided')).toBe('decided');
});

test('the time that a caller may use grows again', async () => {
  const { nowMs, pass } = clock();
  const turns = createBodyTurns(nowMs);
  (await turns.take('greedy', MEBIBYTE)).measure(() => pass(7_000));
  const refusal = await turns.take('greedy', MEBIBYTE).catch((error: unknown) => error);
  const seconds = Number((refusal as { headers: Record<string, string> }).headers['Retry-After']);
  pass(seconds * 1_000);
  expect((await turns.take('greedy', MEBIBYTE)).measure(() => 'parsed')).toBe('parsed');
});

test('a caller slightly over the burst waits for their turn', async () => {
  const { nowMs, pass } = clock();
  const turns = createBodyTurns(nowMs);
  (await turns.take('greedy', MEBIBYTE)).measure(() => pass(6_035));
  const begunMs = performance.now();
  await turns.take('greedy', MEBIBYTE);
  expect(performance.now() - begunMs).toBeGreaterThan(150);
});

test('work that throws counts, too', async () => {
  const { nowMs, pass } = clock();
  const turns = createBodyTurns(nowMs);
  const turn = await turns.take('greedy', MEBIBYTE);
  const fail = (): never => {
    pass(7_000);
    throw new Error('not JSON');
  };
  expect(() => turn.measure(fail)).toThrow('not JSON');
  await expect(turns.take('greedy', MEBIBYTE)).rejects.toMatchObject({ code: 'too_much_work' });
});

test('cheap bodies of any number do not wait', async () => {
  const { nowMs, pass } = clock();
  const turns = createBodyTurns(nowMs);
  for (let body = 0; body < 10_000; body += 1) {
    const turn = await turns.take('busy', 2_000);
    expect(turn.measure(() => pass(1))).toBeUndefined();
  }
});

test('work that ends elsewhere counts once, and so does work that cannot be measured', async () => {
  const { nowMs, pass } = clock();
  const turns = createBodyTurns(nowMs);
  const end = (await turns.take('greedy', MEBIBYTE)).begin();
  pass(5_000);
  end();
  pass(50_000);
  end();
  const turn = await turns.take('greedy', MEBIBYTE);
  turn.count(5_000);
  await expect(turns.take('greedy', MEBIBYTE)).rejects.toMatchObject({ code: 'too_much_work' });
});
