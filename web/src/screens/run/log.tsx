/** The log, complete from its first entry; it shows the chosen step's part, or all. */
import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';

import type { LogEntry } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { clockTime, exactTime } from '../../ui/time.ts';
import { isTouch } from '../../ui/touch.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import type { Step } from './fold-run.ts';
import { LEVELS, matching, plainText, type Level } from './log-lines.ts';
import css from './run.module.css';
import { words } from './words.ts';

interface Props {
  events: readonly LogEntry[];
  steps: readonly Step[];
  step: Step | undefined;
  /** Keep the end in view. */
  follows: Signal<boolean>;
  onEnd: () => void;
  onAll: () => void;
}

const ROW = 25;

export function Log({ events, steps, step, follows, onEnd, onAll }: Props) {
  const level = useSignal<Level>('debug');
  const text = useSignal('');
  const isPlain = useSignal(false);
  const shown = useMemo(
    () => matching(events, steps, { level: level.value, text: text.value, step }),
    [events, steps, level.value, text.value, step?.key],
  );
  const box = useRef<HTMLDivElement>(null);
  const toEnd = () => {
    onEnd();
    const list = box.current?.querySelector('[role=list], pre');
    if (list) list.scrollTop = list.scrollHeight;
  };
  useKeys({ End: toEnd, p: () => (isPlain.value = !isPlain.value) }, words.logShortcuts);
  return (
    <div
      ref={box}
      class={css['log']}
      onWheel={({ deltaY }) => {
        if (deltaY < 0) follows.value = false;
      }}
      onKeyDown={({ key }) => {
        if (['ArrowUp', 'PageUp', 'Home'].includes(key)) follows.value = false;
      }}
    >
      <Filters level={level} text={text} isPlain={isPlain}>
        <span class="muted number">{words.entries(shown.length, events.length)}</span>
        {step !== undefined && (
          <button type="button" class="plain" onClick={onAll}>
            {words.ofStep(step.name)}
          </button>
        )}
      </Filters>
      {isPlain.value ? (
        <pre class={css['plain']} tabIndex={0} role="region" aria-label={words.log}>
          {plainText(shown)}
        </pre>
      ) : (
        <VirtualList
          items={shown}
          rowHeight={ROW}
          current={follows.value ? shown.length - 1 : -1}
          label={words.log}
          role="list"
          activeId={undefined}
          onEnd={() => undefined}
          row={(event) => <Entry key={event.seq} event={event} />}
        />
      )}
    </div>
  );
}

interface FiltersProps {
  level: Signal<Level>;
  text: Signal<string>;
  isPlain: Signal<boolean>;
  children: ComponentChildren;
}

function Filters({ level, text, isPlain, children }: FiltersProps) {
  return (
    <div class={css['filters']}>
      <input
        type="search"
        aria-label={words.searchLog}
        placeholder={words.searchHint(isTouch.value)}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <select
        aria-label={words.level}
        value={level.value}
        onChange={({ currentTarget }) =>
          (level.value = LEVELS.find((one) => one === currentTarget.value) ?? 'debug')
        }
      >
        {LEVELS.map((one) => (
          <option key={one} value={one}>
            {words.levels[one]}
          </option>
        ))}
      </select>
      <button type="button" aria-pressed={isPlain.value} onClick={() => (isPlain.value = !isPlain.value)}>
        {words.plain} <kbd aria-hidden="true">p</kbd>
      </button>
      {children}
    </div>
  );
}

function Entry({ event }: { event: LogEntry }) {
  return (
    <div class={css['entry']} role="listitem" data-level={event.level}>
      <span class={css['seq']}>{event.seq}</span>
      <time class={css['at']} dateTime={event.at} title={exactTime(event.at)}>
        {clockTime(event.at)}
      </time>
      <span class={css['message']} title={event.message}>
        {event.message}
      </span>
      <span class={css['pointer']}>{event.task ?? ''}</span>
    </div>
  );
}
