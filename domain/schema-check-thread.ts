/** The worker thread of domain/schema-check.ts. */
import { parentPort } from 'node:worker_threads';

import { violationsWithin } from '../language/schema/validate-json.ts';
import type { ThreadReply, ThreadRequest } from './schema-check.ts';

parentPort?.on('message', ({ id, schema, value, steps }: ThreadRequest) => {
  const reply: ThreadReply = { id, ...violationsWithin(schema, value, steps) };
  parentPort?.postMessage(reply);
});
