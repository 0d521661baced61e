import type { Limits } from './runtime.ts';

/**
 * The limit of the JavaScript engine that an error reports. Its text decides, because V8 gives nothing else:
 * a stack overflow, a string that is too long and an array that is too long are each a RangeError without a
 * code.
 */
export function exceededHostLimit(error: RangeError): keyof Limits {
  if (error.message.includes('string length')) return 'stringLength';
  if (error.message.includes('array length')) return 'arrayLength';
  return 'depth';
}
