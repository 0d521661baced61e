/** The run over time: names left, bars right, waits folded. Names are what one clicks. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { useKeys } from '../../app/keys.ts';
import { query } from '../../app/router.ts';
import { density } from '../../ui/density.ts';
import { StatusMark } from '../../ui/status.tsx';
import { lengthText, roundLength } from '../../ui/time.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import type { RunFold, Step } from './fold-run.ts';
import { rowOf, rowsOf, type Row } from './rows.ts';
import { barsOf, holdersIn, joined, type Bar } from './stretches.ts';
import { timeAxis, type TimeAxis } from './time-axis.ts';
import css from './timeline.module.css';
import { words } from './words.ts';

interface Props {
  fold: RunFold;
  nowMs: number;
  chosen: string | null;
  onChoose: (key: string) => void;
}

const ROW = 28;
const BAR = 12;
const MIN_BAR = 3;
/** Labels of narrower folds would cover each other. */
const MIN_LABEL = 36;

export function Timeline(props: Props) {
  return props.fold.steps.length === 0 ? <p class="muted">{words.noSteps}</p> : <Chart {...props} />;
}

function Chart({ fold, nowMs, chosen, onChoose }: Props) {
  const { steps } = fold;
  const opened = useSignal<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => rowsOf(steps, opened.value), [steps, opened.value]);
  const current = rowOf(rows, chosen);
  const labels = useRef<HTMLDivElement>(null);
  const width = useWidth(labels);
  const { axis, bars, endMs } = useDrawing(fold, nowMs, width);
  const toggle = ({ key, loop }: Row) => {
    if (loop === null) return;
    const others = [...opened.value].filter((other) => other !== key);
    opened.value = new Set(loop.isOpen ? others : [...others, key]);
  };
  useRowKeys(rows, onChoose, toggle);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!actOn(event.key, rows, current, { choose: onChoose, toggle })) return;
    event.preventDefault();
  };
  return (
    <div class={css['timeline']} onKeyDown={onKeyDown}>
      <div class={css['rows']} style={{ height: `${rows.length * ROW * density.value}px` }}>
        <VirtualList
          items={rows}
          rowHeight={ROW * density.value}
          current={current}
          label={words.steps}
          activeId={current < 0 ? undefined : idOf(current)}
          role="tree"
          onEnd={() => undefined}
          row={(row, index) => (
            <RowView
              key={row.key}
              id={idOf(index)}
              row={row}
              place={{ index, count: rows.length }}
              isChosen={index === current}
              endMs={endMs}
              axis={axis}
              bars={row.covers.map(({ key, status }) => ({ status, bars: bars.get(key) ?? [] }))}
              onChoose={onChoose}
              onToggle={toggle}
            />
          )}
        />
      </div>
      <div class={css['foot']}>
        <div class={css['footName']} />
        <div ref={labels} class={css['footChart']}>
          <svg width={width} height={24} aria-hidden="true">
            <Labels axis={axis} y={16} />
          </svg>
        </div>
      </div>
    </div>
  );
}

/** The axis, and the bars of all steps by their keys. */
function useDrawing({ steps, ...fold }: RunFold, nowMs: number, width: number) {
  const holders = useMemo(() => holdersIn(steps), [steps]);
  const startMs = fold.startMs ?? steps[0]?.startMs ?? nowMs;
  const endMs = Math.max(startMs + 1, fold.endMs ?? nowMs);
  return useMemo(() => {
    const bars = new Map(steps.map((step) => [step.key, barsOf(step, holders.has(step.key), endMs)]));
    const leaves = [...bars.values()].flat().filter(({ holds }) => !holds);
    return { bars, endMs, axis: timeAxis(leaves, startMs, endMs, width) };
  }, [steps, startMs, endMs, width]);
}

/** Keys that work wherever the focus is. */
function useRowKeys(rows: readonly Row[], choose: (key: string) => void, toggle: (row: Row) => void): void {
  // Read at the time of the key, so that quick keys add up.
  const at = () => rowOf(rows, query.value['step'] ?? null);
  const move = (by: number) => () => {
    const next = rows[Math.min(Math.max(at() + by, 0), rows.length - 1)];
    if (next !== undefined) choose(next.step.key);
  };
  const open = () => {
    const row = rows[at()];
    if (row !== undefined) toggle(row);
  };
  useKeys({ j: move(1), k: move(-1), o: open }, words.timelineShortcuts);
}

const idOf = (index: number): string => `step-${index}`;

/** Arrow keys after the ARIA pattern of trees. @returns whether the key did something */
function actOn(
  key: string,
  rows: readonly Row[],
  current: number,
  { choose, toggle }: { choose: (key: string) => void; toggle: (row: Row) => void },
): boolean {
  const row = rows[current];
  if (key === 'Enter' || key === 'ArrowRight' || key === 'ArrowLeft') {
    if (row === undefined || row.loop === null) return false;
    if (key !== 'Enter' && row.loop.isOpen === (key === 'ArrowRight')) return false;
    toggle(row);
    return true;
  }
  const to = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: rows.length - 1 }[key];
  const next = to === undefined ? undefined : rows[Math.max(0, to)];
  if (next === undefined) return false;
  choose(next.step.key);
  return true;
}

interface RowProps {
  id: string;
  row: Row;
  place: { index: number; count: number };
  isChosen: boolean;
  endMs: number;
  axis: TimeAxis;
  bars: readonly { status: string; bars: readonly Bar[] }[];
  onChoose: Props['onChoose'];
  onToggle: (row: Row) => void;
}

function RowView({ id, row, place, isChosen, endMs, axis, bars, onChoose, onToggle }: RowProps) {
  const { step, depth, loop } = row;
  const height = ROW * density.value;
  return (
    <div
      id={id}
      class={css['row']}
      role="treeitem"
      aria-level={depth + 1}
      aria-setsize={place.count}
      aria-posinset={place.index + 1}
      aria-selected={isChosen}
      aria-expanded={loop?.isOpen}
      onClick={() => onChoose(step.key)}
      onDblClick={() => onToggle(row)}
    >
      <div class={css['name']} style={{ paddingLeft: `${10 + Math.min(depth, 8) * 16}px` }}>
        <StatusMark status={step.status} />
        <span class="hidden-text">{step.status} </span>
        <span class={css['title']}>{step.name}</span>
        <span class={css['type']}>{notesOf(row).join(' · ')}</span>
        {loop !== null && (
          <span class={css['times']} onClick={(event) => (event.stopPropagation(), onToggle(row))}>
            {loop.isOpen ? '▾' : '▸'}{' '}
            {loop.going > 0 ? words.going(loop.times, loop.going) : words.times(loop.times)}
          </span>
        )}
        <span class={css['length']}>{lengthText(lengthOf(row, endMs))}</span>
      </div>
      <svg class={css['bars']} width={axis.width} height={height} aria-hidden="true">
        {axis.folds.map(({ x, width }) => (
          <rect key={x} class={css['fold']} x={x} y={0} width={width} height={height} />
        ))}
        {joined(bars, axis, MIN_BAR).map(({ x, width, status, kind }) => (
          <rect
            key={`${kind} ${x}`}
            class={`status-${status} ${css[kind]}`}
            x={x}
            y={(height - BAR) / 2}
            width={width}
            height={BAR}
            rx={2}
          />
        ))}
      </svg>
    </div>
  );
}

function notesOf({ step, loop }: Row): string[] {
  const notes = [
    step.type,
    step.attempt > 1 ? words.attempt(step.attempt) : '',
    loop === null ? placeOf(step) : '',
    loop !== null && loop.faulted > 0 ? words.faulted(loop.faulted) : '',
  ];
  return notes.filter((note) => note !== '');
}

function placeOf({ items, visit, attempt }: Step): string {
  if (items.length > 0) return words.items(items);
  return visit > 1 && attempt === 1 ? words.visit(visit) : '';
}

/** From the first start to the last end of what the row stands for. */
function lengthOf({ step, covers }: Row, endMs: number): number {
  const start = Math.min(step.startMs, covers[0]?.startMs ?? step.startMs);
  return (step.endMs ?? endMs) - start;
}

function Labels({ axis, y }: { axis: TimeAxis; y: number }) {
  const taken = axis.folds.map(({ x, width }) => ({ from: x - 4, to: x + width + 4 }));
  const ticks = axis.ticks.filter(({ x }) => {
    const room = { from: x, to: x + 52 };
    if (room.to > axis.width || taken.some(({ from, to }) => room.from < to && room.to > from)) return false;
    taken.push(room);
    return true;
  });
  return (
    <>
      {(axis.folds[0]?.width ?? 0) < MIN_LABEL
        ? null
        : axis.folds.map(({ x, width, ms }) => (
            <text key={x} class={css['label']} x={x + width / 2} y={y} text-anchor="middle">
              {ms < 60_000 ? lengthText(ms) : roundLength(ms)}
            </text>
          ))}
      {ticks.map(({ x, ms }) => (
        <text key={ms} class={css['label']} x={x + 2} y={y}>
          +{lengthText(ms)}
        </text>
      ))}
    </>
  );
}

function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(600);
  useLayoutEffect(() => {
    const measured = element.current;
    if (measured === null) return undefined;
    const read = () => setWidth(Math.max(120, measured.clientWidth));
    read();
    const observer = new ResizeObserver(read);
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  return width;
}
