import { nowMs } from './clock.ts';
import { exactTime, relativeTime } from './time.ts';

/** A time relative to now, with the exact one on hover. */
export function When({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at, nowMs.value)}
    </time>
  );
}
