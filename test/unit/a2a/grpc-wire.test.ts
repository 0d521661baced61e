/** What is read of protobuf before it is decoded: all that codecs write, and nothing that misleads them. */
import { expect, test } from '@jest/globals';
import { A2AService } from '@a2a-js/sdk/server/grpc';

import { checkWire } from '../../../api/a2a/grpc-wire.ts';
import { AppError } from '../../../domain/errors.ts';

const part = { metadata: undefined, filename: '', mediaType: '' };
const json = { a: null, b: [1, -1.5, true, 'x', {}, [], [{ c: [[]] }]], d: { e: { f: '' } } };
const push = {
  tenant: 't',
  id: 'i',
  taskId: 'k',
  url: 'https://a.example',
  token: 'x',
  authentication: { scheme: 'Bearer', credentials: 'c' },
};
const message = {
  messageId: 'm',
  contextId: 'c',
  taskId: 't',
  role: -1,
  parts: [
    { ...part, content: { $case: 'text', value: 'a' } },
    { ...part, content: { $case: 'raw', value: Buffer.from([0, 255]) }, filename: 'f', mediaType: 'a/b' },
    { ...part, content: { $case: 'data', value: json }, metadata: json },
    { ...part, content: undefined },
  ],
  metadata: json,
  extensions: ['e', ''],
  referenceTaskIds: ['r'],
};
const requests = {
  sendMessage: {
    tenant: 't',
    message,
    configuration: {
      acceptedOutputModes: ['a/b'],
      taskPushNotificationConfig: push,
      historyLength: 2 ** 31 - 1,
      returnImmediately: true,
    },
    metadata: json,
  },
  listTasks: {
    tenant: 't',
    contextId: 'c',
    status: 3,
    pageSize: 1,
    pageToken: 'p',
    historyLength: 1,
    statusTimestampAfter: '2026-01-01T00:00:00.5Z',
    includeArtifacts: true,
  },
  cancelTask: { tenant: 't', id: 'i', metadata: json },
  createTaskPushNotificationConfig: push,
  getTask: { tenant: 't', id: 'i', historyLength: 3 },
} as const;

const encoded = (method: keyof typeof requests): Buffer =>
  A2AService[method].requestSerialize(requests[method] as never);

function refusal(bytes: Uint8Array, method: string): string | null {
  try {
    checkWire(bytes, method);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

test.each(Object.keys(requests) as (keyof typeof requests)[])('all of %s is taken', (method) => {
  expect(refusal(encoded(method), method)).toBeNull();
  expect(refusal(new Uint8Array(), method)).toBeNull();
});

test('whatever is changed in a message, what is taken is decoded, and to no more than is counted', () => {
  const bytes = encoded('sendMessage');
  const tooMany = Buffer.alloc(4_000, Buffer.from([0x2a, 0]));
  let taken = 0;
  for (let at = 0; at < bytes.length; at += 1)
    for (const byte of [0, 0x2a, 0x0b, 0x0c, 0x80, 0xff, (bytes[at] ?? 0) + 1]) {
      const changed = Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + 1)]);
      const longer = Buffer.concat([changed, tooMany]);
      for (const one of [changed, longer]) {
        if (refusal(one, 'sendMessage') !== null) continue;
        const { message: decoded } = A2AService.sendMessage.requestDeserialize(one);
        expect(decoded?.parts.length ?? 0).toBeLessThanOrEqual(1_000);
        taken += 1;
      }
    }
  expect(taken).toBeGreaterThan(100);
});

test('a field that is none of its message counts, and one of a list counts in all messages together', () => {
  const parts = (count: number): Buffer => {
    const inner = Buffer.alloc(count * 2, Buffer.from([0x2a, 0]));
    return Buffer.concat([Buffer.from([0x12, (inner.length % 128) + 128, inner.length >> 7]), inner]);
  };
  expect(refusal(Buffer.concat([parts(500), parts(500)]), 'sendMessage')).toBeNull();
  expect(refusal(Buffer.concat([parts(500), parts(501)]), 'sendMessage')).toBe('validation_failed');
  const unknown = (count: number): Buffer => Buffer.alloc(count * 2, Buffer.from([0x78, 1]));
  expect([20_000, 20_001].map((count) => refusal(unknown(count), 'getTask'))).toEqual([
    null,
    'too_many_fields',
  ]);
});
