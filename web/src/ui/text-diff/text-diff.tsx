/** Two texts compared line by line; what is equal is folded. */
import { useMemo } from 'preact/hooks';

import { diffLines, hunksOf, type DiffLine } from './lines.ts';
import css from './text-diff.module.css';
import { words } from './words.ts';

const MARKS = { same: ' ', removed: '−', added: '+' };

export function TextDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const hunks = useMemo(() => hunksOf(diffLines(before, after)), [before, after]);
  if (hunks.length === 0) return <p class="muted">{words.none}</p>;
  return (
    <div class={css['diff']} role="region" aria-label={label} tabIndex={0}>
      <div class={css['lines']}>
        {hunks.map((hunk) => (
          <>
            {hunk.skipped > 0 && <p class={css['skipped']}>{words.skipped(hunk.skipped)}</p>}
            {hunk.lines.map((line) => (
              <Line key={`${line.before} ${line.after}`} line={line} />
            ))}
          </>
        ))}
      </div>
    </div>
  );
}

function Line({ line: { kind, text, before, after } }: { line: DiffLine }) {
  return (
    <div class={css['line']} data-kind={kind}>
      <span class={css['number']} aria-hidden="true">
        {before}
      </span>
      <span class={css['number']} aria-hidden="true">
        {after}
      </span>
      <span aria-hidden="true">{MARKS[kind]}</span>
      <span>
        {kind !== 'same' && <span class="hidden-text">{words.kinds[kind]}: </span>}
        {text}
      </span>
    </div>
  );
}
