/**
 * What becomes of a local Temporal server whose database answers nothing any more. A real one gets there in
 * some seconds or never, when callers give up in the middle of its queries; so a server that answers as it
 * does stands in its place.
 */
import { Server, ServerCredentials, status, type sendUnaryData } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { endWhenStuck } from '../../dev/temporal-watch.ts';

const INTERRUPTED = 'GetNamespace operation failed. Error interrupted (9)';

let server: Server;
let address: string;
let asked: number;
/** Of each call: the failure, or null. */
let answer: (call: number) => string | null;
const exit = { now: () => {}, hasBeen: Promise.resolve() };
let ended: string[];
beforeEach(async () => {
  asked = 0;
  ended = [];
  exit.hasBeen = new Promise((resolve) => (exit.now = resolve));
  server = new Server();
  const asIs = (bytes: Buffer): Buffer => bytes;
  server.addService(
    {
      describeNamespace: {
        path: '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace',
        requestStream: false,
        responseStream: false,
        requestSerialize: asIs,
        requestDeserialize: asIs,
        responseSerialize: asIs,
        responseDeserialize: asIs,
      },
    },
    {
      describeNamespace: (_call: unknown, callback: sendUnaryData<Buffer>) => {
        const failure = answer((asked += 1));
        if (failure === null) callback(null, Buffer.alloc(0));
        else callback({ code: status.UNAVAILABLE, details: failure });
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  address = `127.0.0.1:${port}`;
});
afterEach(() => server.forceShutdown());

function watch(): Promise<void> {
  const stop = async (): Promise<void> => {
    ended.push('stopped');
    exit.now();
  };
  return endWhenStuck(
    { address, exited: exit.hasBeen, stop },
    { pauseMs: 10, report: (line) => ended.push(line) },
  );
}

test('a server that is interrupted three times in a row is ended, and it is said why', async () => {
  answer = () => INTERRUPTED;
  await watch();
  expect(ended).toEqual([expect.stringContaining('interrupted'), 'stopped']);
  expect(asked).toBe(3);
});

test('one that is interrupted now and then, or fails otherwise, goes on', async () => {
  const failures = [INTERRUPTED, INTERRUPTED, null, 'no space left on device', INTERRUPTED, 'shard is gone'];
  const enough = Promise.withResolvers<void>();
  answer = (call) => {
    if (call === 4 * failures.length) enough.resolve();
    return failures[call % failures.length] ?? null;
  };
  const watching = watch();
  await enough.promise;
  exit.now();
  await watching;
  expect(ended).toEqual([]);
});

test('the watch is over with the server', async () => {
  answer = () => null;
  const watching = watch();
  exit.now();
  await watching;
  expect(ended).toEqual([]);
});
