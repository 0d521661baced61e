/** What a right password is answered with where a second factor is needed. */
import { ApiError } from '../../../../client/index.ts';
import { isRecord } from '../../../../contracts/is-record.ts';
import type { Step } from './second-step.tsx';

export function stepIn(error: unknown): Step | null {
  if (!(error instanceof ApiError) || error.code !== 'mfa_required') return null;
  const { challenge, methods, passkey } = error.problem;
  return typeof challenge === 'string' && Array.isArray(methods)
    ? { challenge, methods: methods.map(String), passkey: isRecord(passkey) ? passkey : null }
    : null;
}
