import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { RunStart } from '../../../contracts/temporal.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { createGateway } from '../../../temporal/gateway.ts';
import { isUnknownSearchAttribute } from '../../../temporal/grpc-failures.ts';
import { until } from '../../support/platform.ts';
import { testTemporal } from '../../support/servers.ts';

let address: string;
let client: Client;
const clients: Client[] = [];

const connect = (namespace: string): Client => {
  const created = createTemporalClient({ address, namespace });
  clients.push(created);
  return created;
};
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );
const startWith = (attribute: string): Promise<unknown> =>
  errorOf(
    client.workflow.start('anything', {
      taskQueue: 'nobody-polls',
      workflowId: randomUUID(),
      typedSearchAttributes: [
        { key: defineSearchAttributeKey(attribute, SearchAttributeType.KEYWORD), value: 'value' },
      ],
    }),
  );
const list = (query: string): Promise<unknown> =>
  errorOf(client.workflow.list({ query })[Symbol.asyncIterator]().next());

beforeAll(async () => {
  const temporal = await testTemporal();
  ({ address } = temporal);
  client = connect(temporal.namespace);
});
afterAll(async () => {
  for (const { connection } of clients) await connection.close();
});

describe('an unknown search attribute is told apart from other mistakes', () => {
  test('when a workflow starts with it', async () => {
    expect(isUnknownSearchAttribute(await startWith('NeverRegistered'))).toBe(true);
    expect(await startWith('CadenzaOwner')).toBeNull();
  });

  test('when a list asks for it', async () => {
    expect(isUnknownSearchAttribute(await list(`NeverRegistered = 'value'`))).toBe(true);
    const other = await list('this is not a query');
    expect(other).toBeInstanceOf(Error);
    expect(isUnknownSearchAttribute(other)).toBe(false);
  });
});

test('on a server without our search attributes, runs start and are listed without them', async () => {
  const namespace = `plain-${randomUUID()}`;
  await client.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: proto.google.protobuf.Duration.fromObject({ seconds: 86_400 }),
  });
  const plain = connect(namespace);
  const gateway = createGateway({ client: plain, taskQueue: 'nobody-polls', baseUrl: 'http://localhost' });
  const run: RunStart = {
    run_id: randomUUID(),
    root_run_id: randomUUID(),
    owner_id: randomUUID(),
    workflow_id: null,
    name: 'plain',
    definition: {},
    input: null,
    created_at: new Date().toISOString(),
    checkpoint: null,
  };
  // The server knows a new namespace only after some seconds.
  await until(
    () => errorOf(gateway.start(run)),
    (error) => error === null,
  );
  expect(await gateway.describe(run.run_id)).toBe('running');
  expect(await gateway.abnormallyClosed(new Date())).toEqual([]);
});
