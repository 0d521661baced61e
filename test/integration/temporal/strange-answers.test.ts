/** What the API makes of a Temporal that answers nothing, or nothing that a Temporal would. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

import { TemporalRefused, TemporalUnavailable, type TemporalGateway } from '../../../domain/ports.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { createGateway } from '../../../temporal/gateway.ts';
import { allowedMs } from '../../support/machine.ts';
import {
  answered,
  startTamperedTemporal,
  STRANGE_ANSWERS,
  type TamperedTemporal,
} from '../../support/tampered-temporal.ts';

const MEBIBYTE = 1024 * 1024;
/** Five seconds of the call, and what a last pause may take. */
const PROMISED_MS = 6_000;
const {
  DescribeWorkflowExecutionResponse,
  GetWorkflowExecutionHistoryResponse,
  ListWorkflowExecutionsResponse,
} = proto.temporal.api.workflowservice.v1;

let tampered: TamperedTemporal;
let client: Client;
let gateway: TemporalGateway;

beforeAll(async () => {
  // Nothing listens there: all answers are those of the tests.
  tampered = await startTamperedTemporal('127.0.0.1:1');
  client = createTemporalClient({ address: tampered.address, namespace: 'default' });
  gateway = createGateway({ client, taskQueue: 'nobody-polls', baseUrl: 'http://localhost' });
});
afterAll(async () => {
  await client.connection.close();
  await tampered.close();
});
beforeEach(() => tampered.calls.clear());

/** Of each call: `unavailable`, or what else came of it. */
const outcomeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) =>
    error instanceof TemporalUnavailable
      ? 'unavailable'
      : error instanceof TemporalRefused
        ? 'refused'
        : `${String(error)}: ${String(error instanceof Error && error.cause)}`,
  );

const CALLS: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  start: (id) =>
    gateway.start({
      run_id: id,
      root_run_id: id,
      owner_id: id,
      workflow_id: null,
      name: 'plain',
      definition: {},
      input: null,
      created_at: new Date().toISOString(),
      checkpoint: null,
    }),
  signal: (id) => gateway.signal(id, { id, run_id: id, kind: 'call.done', key: 'k' }),
  cancel: (id) => gateway.cancel(id),
  terminate: (id) => gateway.terminate(id, 'test'),
  describe: (id) => gateway.describe(id),
  removeHistory: (id) => gateway.removeHistory(id),
  namespaceId: () => gateway.namespaceId(),
  historyRetentionMs: () => gateway.historyRetentionMs(),
  closeReason: (id) => gateway.closeReason(id),
  abnormallyClosed: () => gateway.abnormallyClosed(new Date()),
  workflowTaskAttempt: (id) => gateway.workflowTaskAttempt(id),
  troubled: () => gateway.troubled(),
  wakeDelivery: (id) => gateway.wakeDelivery({ id, holder_id: id }),
};

test.each(Object.keys(STRANGE_ANSWERS))('to %s, each call is an outage within its time', async (name) => {
  tampered.answer = () => STRANGE_ANSWERS[name] ?? null;
  const over = new AbortController();
  const before = process.memoryUsage().rss;
  let most = before;
  const watching = (async () => {
    for (; !over.signal.aborted; await sleep(20)) most = Math.max(most, process.memoryUsage().rss);
  })();
  const begun = performance.now();
  const pinged = gateway.ping();
  const outcomes = await Promise.all(
    Object.entries(CALLS).map(async ([call, run]) => [call, await outcomeOf(run(randomUUID()))]),
  );
  expect(await pinged).toBe(false);
  expect(performance.now() - begun).toBeLessThan(allowedMs(PROMISED_MS));
  expect(outcomes).toEqual(Object.keys(CALLS).map((call) => [call, 'unavailable']));
  over.abort();
  await watching;
  // Of a dozen calls; each may have four mebibytes of an answer.
  expect((most - before) / MEBIBYTE).toBeLessThan(200);
});

test('pages that have no end are an outage', async () => {
  const page = ListWorkflowExecutionsResponse.encode({ nextPageToken: Buffer.from('more') }).finish();
  tampered.answer = () => answered(page);
  const begun = performance.now();
  expect(await outcomeOf(gateway.abnormallyClosed(new Date()))).toBe('unavailable');
  expect(performance.now() - begun).toBeLessThan(allowedMs(PROMISED_MS));
});

test('of executions that name each other, none is removed, and it is said why', async () => {
  const [one, two] = [randomUUID(), randomUUID()];
  const described = DescribeWorkflowExecutionResponse.encode({
    workflowExecutionInfo: { execution: { workflowId: 'w', runId: one }, status: 2 },
  }).finish();
  const before = (runId: string): Uint8Array =>
    GetWorkflowExecutionHistoryResponse.encode({
      history: {
        events: [{ workflowExecutionStartedEventAttributes: { continuedExecutionRunId: runId } }],
      },
    }).finish();
  let asked = 0;
  tampered.answer = (method) =>
    answered(method === 'DescribeWorkflowExecution' ? described : before([two, one][asked++ % 2] ?? ''));
  expect(await outcomeOf(gateway.removeHistory(randomUUID()))).toContain(
    `names ${one} as an execution before`,
  );
  expect(tampered.calls.get('DeleteWorkflowExecution')).toBe(undefined);
});

test('once the answers are right again, calls succeed on the same connection', async () => {
  tampered.answer = () => STRANGE_ANSWERS['junk as a message'] ?? null;
  expect(await outcomeOf(gateway.describe(randomUUID()))).toBe('unavailable');
  const info = {
    execution: { workflowId: 'w', runId: randomUUID() },
    type: { name: 'run' },
    status: 1,
    startTime: proto.google.protobuf.Timestamp.fromObject({ seconds: 1 }),
  };
  tampered.answer = () =>
    answered(DescribeWorkflowExecutionResponse.encode({ workflowExecutionInfo: info }).finish());
  const decode = jest.spyOn(DescribeWorkflowExecutionResponse, 'decode');
  try {
    expect(await outcomeOf(gateway.describe(randomUUID()))).toBe('running');
    // Its answer is decoded once: answers may have mebibytes.
    expect(decode).toHaveBeenCalledTimes(1);
  } finally {
    decode.mockRestore();
  }
});

test('of each method, the SDK takes the answer as it was decoded', async () => {
  const { workflowservice, operatorservice } = proto.temporal.api;
  // The types of the package say nothing of services as protobufjs reads them.
  const services: [any, any][] = [
    [workflowservice.v1.WorkflowService, workflowservice.v1],
    [operatorservice.v1.OperatorService, operatorservice.v1],
  ];
  for (const [service, messages] of services)
    for (const { name } of service.methodsArray) {
      const answer = messages[`${name}Response`].decode(new Uint8Array());
      const asked = service.create((_method: unknown, _request: unknown, callback: any) =>
        callback(null, answer),
      );
      const taken = await asked[`${name[0].toLowerCase()}${name.slice(1)}`]({});
      expect([name, taken === answer]).toEqual([name, true]);
    }
});
