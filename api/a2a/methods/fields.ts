import { AppError, invalid } from '../../../domain/errors.ts';

/** A2A's int32. The database would refuse more than 64 bits. */
const MAX_HISTORY_LENGTH = 2 ** 31 - 1;
export const HISTORY_LENGTH_RULE = `historyLength must be an integer from 0 to ${MAX_HISTORY_LENGTH}`;

/** @throws 422 unless it is absent or a history length */
export function historyLengthOf(historyLength: number | undefined): number | undefined {
  if (historyLength === undefined) return undefined;
  if (!isHistoryLength(historyLength)) throw invalidField('/historyLength', HISTORY_LENGTH_RULE);
  return historyLength;
}

export function isHistoryLength(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_HISTORY_LENGTH;
}

/** @throws 422 if it is empty */
export function taskIdOf(id: unknown): string {
  if (typeof id !== 'string' || id.trim() === '') throw invalidField('/id', 'the task id is required');
  return id;
}

export function invalidField(pointer: string, message: string): AppError {
  return invalid([{ pointer, code: 'invalid', message }]);
}
