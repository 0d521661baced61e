import { AppError, invalid } from '../../../domain/errors.ts';

/** @throws 422 unless it is absent, or an integer of at least 0 */
export function historyLengthOf(historyLength: number | undefined): number | undefined {
  if (historyLength === undefined) return undefined;
  if (!Number.isInteger(historyLength) || historyLength < 0)
    throw invalidField('/historyLength', 'historyLength must be an integer, 0 or more');
  return historyLength;
}

/** @throws 422 if it is empty */
export function taskIdOf(id: unknown): string {
  if (typeof id !== 'string' || id.trim() === '') throw invalidField('/id', 'the task id is required');
  return id;
}

export function invalidField(pointer: string, message: string): AppError {
  return invalid([{ pointer, code: 'invalid', message }]);
}
