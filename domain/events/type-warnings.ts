/** Warnings about filters of event types that match no event of Cadenza's own. */
import { EVENT } from '../../contracts/run-events.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import { matchesType } from './type-filter.ts';

export interface TypeWarning {
  /** Into the record that has `types`. */
  pointer: string;
  message: string;
}

export const WEBHOOK_TEST_TYPE = 'io.cadenza.webhook.test.v1';
const TYPES: readonly string[] = [...Object.values(EVENT), WEBHOOK_TEST_TYPE];
/** The types, and what includes several of them, such as `io.cadenza.hitl`. */
const NAMES: ReadonlySet<string> = new Set(TYPES.flatMap(beginningsOf));

/**
 * A pattern that matches none of Cadenza's own types. It is no mistake if a workflow emits events that it
 * matches, so it is not refused.
 */
export function typeWarnings(types: readonly string[]): TypeWarning[] {
  return types.flatMap((pattern, index) => {
    if (TYPES.some((type) => matchesType([pattern], type))) return [];
    const others = 'only events that workflows emit can match';
    const message = `matches none of Cadenza's own events (${others})${didYouMean(pattern, NAMES)}`;
    return [{ pointer: `/types/${index}`, message }];
  });
}

function beginningsOf(type: string): string[] {
  const parts = type.split('.');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 2).join('.'));
}
