import type { CheckedContainer } from '../../contracts/activities.ts';
import type { Fault } from '../../contracts/fault.ts';

/** What the record of an agent says of a check that failed. */
export function failedCheck({ error: { type, title, detail } }: Fault): CheckedContainer {
  const reason = detail ?? title ?? 'The counterpart does not work.';
  return { status: 'failed', error: type.split('/').at(-1) ?? type, detail: reason };
}
