/** The part of a definition that a JSON pointer (RFC 6901) names; undefined if there is none. */
import { pointerTokens } from '../../../../contracts/json-pointer.ts';

export function partAt(definition: unknown, pointer: string): unknown {
  let part = definition;
  for (const key of pointerTokens(pointer)) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) return undefined;
    // An object, and lists have their positions as names too.
    part = (part as Record<string, unknown>)[key];
  }
  return part;
}
