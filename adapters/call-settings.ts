/** Shared by calls of all kinds: configuration, timeout, idempotency key, and faults without secrets. */
import type * as z from 'zod';
import { durationToMs } from '../language/definition/duration.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { issueText } from '../contracts/issue-texts.ts';
import type { Sensitive } from './secrets/sensitive.ts';

/** Throws a `Fault` (configuration) that names the invalid fields. */
export function parseConfiguration<T extends z.ZodType>(schema: T, configuration: unknown): z.infer<T> {
  const parsed = schema.safeParse(configuration, { error: issueText });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.map(String).join('.')}: ${issue.message}`,
  );
  throw fault('configuration', `The agent's configuration does not fit: ${problems.join('; ')}`);
}

/** The shorter of the agent's own limit and the call's, in milliseconds. `key` is its configuration's. */
export function timeoutOf(
  configured: number | string | Record<string, number> | undefined,
  callTimeoutMs: number,
  key = 'timeout',
): number {
  if (configured === undefined) return callTimeoutMs;
  let ownMs: number;
  try {
    ownMs = typeof configured === 'number' ? configured : durationToMs(configured);
  } catch (error) {
    throw fault(
      'configuration',
      `${key} of the agent's configuration: ${error instanceof Error ? error.message : 'not a duration'}`,
    );
  }
  if (ownMs <= 0) throw fault('configuration', `${key} of the agent's configuration must be more than zero`);
  return Math.min(ownMs, callTimeoutMs);
}

/** Redacts secrets in a fault's text; returns other errors unchanged. */
export function withoutSecrets(error: unknown, sensitive: Sensitive): unknown {
  if (!(error instanceof Fault) || error.error.detail === undefined) return error;
  return new Fault({ ...error.error, detail: sensitive.redact(error.error.detail) });
}

/** Visible ASCII, at most 255 characters, which most servers keep; different for different keys. */
export { toHeader as headerSafe } from '../contracts/invocation-key.ts';
