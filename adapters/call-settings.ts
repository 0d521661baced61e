/** What the calls of all kinds have in common: configuration, time limit, idempotency key, faults without secrets. */
import type * as z from 'zod';
import { durationToMs } from '../contracts/definition/duration.ts';
import { Fault, fault } from '../contracts/fault.ts';
import type { Sensitive } from './sensitive.ts';

/** Throws `Fault` (configuration) that names what does not fit. */
export function parseConfiguration<T extends z.ZodType>(schema: T, configuration: unknown): z.infer<T> {
  const parsed = schema.safeParse(configuration);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`);
  throw fault('configuration', `The agent's configuration does not fit: ${problems.join('; ')}`);
}

/** The shorter of the agent's own limit and the call's, in milliseconds. */
export function timeoutOf(configured: number | string | Record<string, number> | undefined, callTimeoutMs: number): number {
  if (configured === undefined) return callTimeoutMs;
  let ownMs: number;
  try {
    ownMs = typeof configured === 'number' ? configured : durationToMs(configured);
  } catch (error) {
    throw fault('configuration', `timeout of the agent's configuration: ${error instanceof Error ? error.message : 'not a duration'}`);
  }
  if (ownMs <= 0) throw fault('configuration', "timeout of the agent's configuration must be more than zero");
  return Math.min(ownMs, callTimeoutMs);
}

/** A fault whose text is free of secrets; other errors as they are. */
export function withoutSecrets(error: unknown, sensitive: Sensitive): unknown {
  if (!(error instanceof Fault) || error.error.detail === undefined) return error;
  return new Fault({ ...error.error, detail: sensitive.redact(error.error.detail) });
}

/** Visible ASCII, at most 255 characters, as most servers keep it. */
export function headerSafe(key: string): string {
  return encodeURI(key.toWellFormed()).slice(0, 255);
}
