/**
 * Checks gRPC requests for values that JSON cannot represent, or that the HTTP bindings reject when they
 * parse the body.
 */
import { badRequest, type AppError } from '../../domain/errors.ts';

/** About the depth limit of JSON bodies; the envelopes differ a little. */
const MAX_DEPTH = 64;

/** @throws 400 for a request nested deeper than 64 levels, and for numbers that are not finite */
export function checkValues(request: object): void {
  let level: unknown[] = [request];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw tooDeep();
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value))
        throw badRequest('out_of_range', 'The message contains a number that is not finite.');
      if (typeof value !== 'object' || value === null || value instanceof Uint8Array) continue;
      // Not spread into push(): a long array would exceed the limit of call arguments.
      for (const inner of Object.values(value)) next.push(inner);
    }
    level = next;
  }
}

export function tooDeep(): AppError {
  return badRequest('too_deep', `The message is nested deeper than ${MAX_DEPTH} levels.`);
}
