/** Configuration of agents of kind `edge`: workers elsewhere pull their jobs (docs/external-workers.md). */
import * as z from 'zod';
import { jsonObject } from '../json-object.ts';
import { duration, retry, type AgentKind } from './kind.ts';

/** Of the name of a queue. */
export const QUEUE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
export const DEFAULT_QUEUE = 'default';

export const edgeConfiguration = z.looseObject({
  /** Separates workers of one agent: a worker may ask for the jobs of one queue. Default: `default`. */
  queue: z.string().regex(QUEUE_NAME, 'must be letters, digits and . _ - (100 at most)').optional(),
  /** How long a worker holds a job without a heartbeat. Default: 60 s; from 5 s to an hour. */
  lease: duration.optional(),
  /** How often a job is handed out before it fails. Default: 5. */
  max_attempts: z.int().min(1).max(100).optional(),
  /** Sent with each job; `<NAME>` in it becomes the secret. Default: nothing is sent. */
  settings: jsonObject.optional(),
  timeout: duration.optional(),
  retry: retry.optional(),
});

export const edgeKind: AgentKind = { configuration: edgeConfiguration, keys: [], sendsCredentials: false };
