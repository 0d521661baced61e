/** Steps of a worker's start, while its servers come and go. */
import { expect, test } from '@jest/globals';
import { Metadata, status } from '@grpc/grpc-js';
import { NamespaceNotFoundError } from '@temporalio/client';
import { persistently } from '../../../worker/connect.ts';
import type { Logger } from '../../../config/logger.ts';

const warnings: unknown[] = [];
// Only this method is used.
const logger = { warn: (details: unknown) => void warnings.push(details) } as unknown as Logger;
const refusal = (code: status): Error =>
  Object.assign(new Error('refused'), { code, details: 'refused', metadata: new Metadata() });

test('a step is tried again while PostgreSQL or Temporal is away', async () => {
  const failures = [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })];
  const step = async (): Promise<string> => {
    const failure = failures.shift();
    if (failure) throw failure;
    return 'done';
  };
  expect(await persistently(logger, step)).toBe('done');
  failures.push(refusal(status.UNAVAILABLE) as (typeof failures)[0]);
  expect(await persistently(logger, step)).toBe('done');
  expect(warnings).toHaveLength(2);
});

test('a namespace that there is not is waited for, with a line that names the setting', async () => {
  warnings.length = 0;
  const failures = [new NamespaceNotFoundError('staging')];
  const step = async (): Promise<string> => {
    const failure = failures.shift();
    if (failure) throw failure;
    return 'done';
  };
  expect(await persistently(logger, step)).toBe('done');
  expect(warnings).toEqual(['Temporal has no namespace staging (TEMPORAL_NAMESPACE), trying again']);
});

test('what Temporal refuses ends the start', async () => {
  const step = async (): Promise<never> => {
    throw refusal(status.PERMISSION_DENIED);
  };
  await expect(persistently(logger, step)).rejects.toThrow('refused');
});
