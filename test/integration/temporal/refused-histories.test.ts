/** A server that lets us read executions but not delete them, as one with an authorizer may. */
import { Server, ServerCredentials, status, type ServiceDefinition } from '@grpc/grpc-js';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { TemporalRefused, TemporalUnavailable } from '../../../domain/ports.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { createGateway } from '../../../temporal/gateway.ts';

const { DescribeWorkflowExecutionResponse, GetSystemInfoResponse, GetWorkflowExecutionHistoryResponse } =
  proto.temporal.api.workflowservice.v1;
const RUN_ID = '019ac000-0000-7000-8000-000000000001';
const COMPLETED = 2;

const bytes = (encoded: { finish(): Uint8Array }): Buffer => Buffer.from(encoded.finish());
const ANSWERS: Record<string, Buffer> = {
  GetSystemInfo: bytes(GetSystemInfoResponse.encode({})),
  DescribeWorkflowExecution: bytes(
    DescribeWorkflowExecutionResponse.encode({
      workflowExecutionInfo: { execution: { workflowId: `run-${RUN_ID}`, runId: RUN_ID }, status: COMPLETED },
    }),
  ),
  GetWorkflowExecutionHistory: bytes(GetWorkflowExecutionHistoryResponse.encode({ history: { events: [] } })),
};
const METHODS = [...Object.keys(ANSWERS), 'DeleteWorkflowExecution', 'DescribeNamespace'];

let server: Server;
let client: Client;
/** What the methods without an answer refuse with. */
let code: status;

beforeAll(async () => {
  server = new Server();
  const same = (value: Buffer): Buffer => value;
  const service: ServiceDefinition = Object.fromEntries(
    METHODS.map((name) => [
      name,
      {
        path: `/temporal.api.workflowservice.v1.WorkflowService/${name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    ]),
  );
  const refuse = (_call: unknown, done: (error: object) => void) => done({ code, details: 'not for you' });
  server.addService(
    service,
    Object.fromEntries(
      METHODS.map((name) => {
        const answer = ANSWERS[name];
        return [
          name,
          answer === undefined
            ? refuse
            : (_call: unknown, done: (error: null, value: Buffer) => void) => done(null, answer),
        ];
      }),
    ),
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  client = createTemporalClient({ address: `127.0.0.1:${port}`, namespace: 'default' });
});
afterAll(async () => {
  await client.connection.close();
  server.forceShutdown();
});

test.each([
  ['PERMISSION_DENIED', status.PERMISSION_DENIED],
  ['UNAUTHENTICATED', status.UNAUTHENTICATED],
  ['UNIMPLEMENTED', status.UNIMPLEMENTED],
  ['FAILED_PRECONDITION', status.FAILED_PRECONDITION],
])('%s is a refusal, not an outage', async (name, refusal) => {
  code = refusal;
  const gateway = createGateway({ client, baseUrl: 'http://localhost' });
  const removed = gateway.removeHistory(RUN_ID);
  await expect(removed).rejects.toThrow(TemporalRefused);
  await expect(removed).rejects.toMatchObject({ status: name });
  await expect(gateway.historyRetentionMs()).rejects.toMatchObject({ status: name });
});

test('what may work later is an outage, and what is gone is gone', async () => {
  const gateway = createGateway({ client, baseUrl: 'http://localhost' });
  code = status.UNAVAILABLE;
  await expect(gateway.removeHistory(RUN_ID)).rejects.toThrow(TemporalUnavailable);
  code = status.NOT_FOUND;
  expect(await gateway.removeHistory(RUN_ID)).toBe('removed');
});
