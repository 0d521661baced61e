import { expect } from '@jest/globals';
import type { Client } from './app.ts';
import { until, type RunRecord } from './platform.ts';

/** Runs one definition many times at once, and waits until all have ended. */
export async function runAtOnce(
  client: Client,
  definition: unknown,
  count: number,
  timeoutMs: number,
): Promise<RunRecord[]> {
  const workflow = (await client.post('/workflows', { name: 'many', definition })).body;
  expect(workflow.problems).toEqual([]);
  const start = async (): Promise<string> => {
    const { status, body } = await client.post(`/workflows/${workflow.id}/run`, {});
    expect([status, body]).toEqual([201, expect.objectContaining({ id: expect.any(String) })]);
    return body.id;
  };
  const ids = await Promise.all(Array.from({ length: count }, start));
  const ended = async (): Promise<RunRecord[]> => {
    const { status, body } = await client.get('/runs?limit=200');
    expect([status, body]).toEqual([200, expect.any(Array)]);
    return body.filter((run: RunRecord) => ids.includes(run['id']) && run['finished_at'] !== null);
  };
  return until(ended, (runs) => runs.length === count, timeoutMs);
}
