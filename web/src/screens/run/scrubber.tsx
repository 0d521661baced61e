/** Shows the run as it was at any event of its log. */
import type { LogEntry } from '../../../../client/index.ts';
import { StatusText } from '../../ui/status.tsx';
import { clockTime, exactTime } from '../../ui/time.ts';
import type { RunFold } from './fold-run.ts';
import type { Scrub } from './scrub.ts';
import css from './run.module.css';
import { words } from './words.ts';

interface Props {
  scrub: Scrub;
  /** The last event that is shown. */
  event: LogEntry | undefined;
  /** Of the run at that event. */
  status: RunFold['status'];
}

export function Scrubber({ scrub, event, status }: Props) {
  const { at, first, last, isLive } = scrub;
  if (last < first) return null;
  return (
    <div class={css['scrubber']}>
      <input
        type="range"
        min={first}
        max={last}
        value={at}
        aria-label={words.scrub}
        aria-valuetext={words.event(at, last)}
        onInput={({ currentTarget }) => scrub.go(Number(currentTarget.value))}
      />
      <span class={`number ${css['position']}`}>{words.event(at, last)}</span>
      {event !== undefined && (
        <time class="number" dateTime={event.at} title={exactTime(event.at)}>
          {clockTime(event.at)}
        </time>
      )}
      {!isLive && status !== null && <StatusText status={status} />}
      <button type="button" disabled={isLive} onClick={scrub.live}>
        {words.now} <kbd aria-hidden="true">.</kbd>
      </button>
    </div>
  );
}
