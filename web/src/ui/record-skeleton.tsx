import { useLate } from './late.ts';
import css from './record-skeleton.module.css';

const ROWS = 6;

/**
 * The page of a record while it is read. A short wait shows nothing.
 * @param title where the page has no main heading yet
 */
export function RecordSkeleton({ title }: { title?: string }) {
  const isLate = useLate(true);
  return (
    <div aria-busy="true">
      {title !== undefined && <h1 class="hidden-text">{title}</h1>}
      {isLate && (
        <div class={css['skeleton']} aria-hidden="true">
          <div class={css['title']} />
          <div class={css['facts']} />
          <div class={css['tabs']} />
          {Array.from({ length: ROWS }, (_, at) => (
            <div key={at} class={css['row']} />
          ))}
        </div>
      )}
    </div>
  );
}
