/**
 * A Temporal that answers to api and worker what no Temporal would: requests are answered, nothing ends a
 * process, and runs go on once the answers are right again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

import { CALL_TIMEOUT_MS } from '../../temporal/gateway.ts';
import { allowedMs } from '../support/machine.ts';
import { startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { createTestDatabase, testTemporal } from '../support/servers.ts';
import {
  STRANGE_ANSWERS,
  startTamperedTemporal,
  type TamperedTemporal,
} from '../support/tampered-temporal.ts';

const definition = { do: [{ first: { set: { a: 1 } } }, { second: { wait: { seconds: 1 } } }] };

let tampered: TamperedTemporal;
let platform: TestPlatform;

beforeAll(async () => {
  const [database, temporal] = await Promise.all([createTestDatabase(), testTemporal()]);
  tampered = await startTamperedTemporal(temporal.address);
  const servers = { database, temporal: { ...temporal, address: tampered.address } };
  // Within the product's own limit a start is answered that Temporal does not serve.
  platform = await startTestPlatform({ servers, temporalCallMs: CALL_TIMEOUT_MS });
});
afterEach(() => {
  tampered.answer = null;
});
afterAll(async () => {
  await platform.close();
  await tampered.close();
});

/** Without an answer, calls of the worker wait for the SDK's own limits, of a minute and more. */
const ANSWERS = ['junk as a message', 'a page of HTML', 'the end of the connection'];

test.each(ANSWERS)('a run goes on after a time of %s', async (name) => {
  const client = await platform.as('builder');
  // One that is under way, and one that is started meanwhile.
  const former = await startRun(client, definition);
  tampered.answer = () => STRANGE_ANSWERS[name] ?? null;
  const begun = performance.now();
  const run = await startRun(client, definition);
  expect(run.status).toBe('pending');
  expect(performance.now() - begun).toBeLessThan(allowedMs(8_000));
  await sleep(2_000);
  tampered.answer = null;
  // A start that failed is made again by a pass that finds it old enough.
  const statuses = async (): Promise<string[]> => {
    await platform.reconcile();
    const runs = [former, run].map(({ id }) => client.get(`/runs/${id}`));
    return (await Promise.all(runs)).map(({ body }) => body.status);
  };
  await until(statuses, (found) => found.every((status) => status === 'completed'));
});
