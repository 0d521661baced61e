/** What JSON cannot carry, or its bindings refuse before anybody looks at it, is refused here for gRPC. */
import { badRequest } from '../../domain/errors.ts';

/** As the bodies of the other bindings, give or take the envelope. */
const DEPTH_LIMIT = 64;

/** @throws 400 for a request nested deeper than 64, and for numbers that are none. */
export function checkValues(request: object): void {
  let level: unknown[] = [request];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_LIMIT) throw badRequest('too_deep', `The message is nested deeper than ${DEPTH_LIMIT}.`);
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value)) throw badRequest('out_of_range', 'The message holds a number that is not finite.');
      if (typeof value !== 'object' || value === null || value instanceof Uint8Array) continue;
      // Not spread: an array may be longer than a call has room for arguments.
      for (const inner of Object.values(value)) next.push(inner);
    }
    level = next;
  }
}
