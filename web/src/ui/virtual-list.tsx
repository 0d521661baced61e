/** Draws only the rows in view, so that 10,000 rows scroll like 20. All rows have one height. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import css from './virtual-list.module.css';

interface Props<T> {
  items: readonly T[];
  rowHeight: number;
  /** Position of the row to keep in view; -1 for none. */
  current: number;
  label: string;
  /** Id of the current row, for screen readers. */
  activeId: string | undefined;
  role: 'listbox' | 'list' | 'tree';
  row: (item: T, index: number) => ComponentChildren;
  /** Called when the end comes into view. */
  onEnd: () => void;
}

/** Rows drawn beyond the view, so that quick scrolling shows no gaps. */
const BEYOND = 8;

export function VirtualList<T>(props: Props<T>) {
  const { items, rowHeight, role } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const read = () => {
    const { scrollTop: top, clientHeight: height } = box.current ?? { scrollTop: 0, clientHeight: 800 };
    setView((last) => (last.top === top && last.height === height ? last : { top, height }));
  };
  useLayoutEffect(() => {
    read();
    const observer = new ResizeObserver(read);
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useKeptInView(box, props);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - BEYOND);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + BEYOND);
  const atEnd = last >= items.length;
  useLayoutEffect(() => {
    if (atEnd) props.onEnd();
  }, [atEnd, items]);
  return (
    <div
      ref={box}
      class={css['box']}
      role={role}
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={role === 'list' ? undefined : props.activeId}
      onScroll={read}
    >
      <div role="presentation" class={css['all']} style={{ height: `${items.length * rowHeight}px` }}>
        <div role="presentation" class={css['shown']} style={{ top: `${first * rowHeight}px` }}>
          {items.slice(first, last).map((item, index) => props.row(item, first + index))}
        </div>
      </div>
    </div>
  );
}

/** Scrolls to the current row when it becomes that, or moves. */
function useKeptInView(
  box: { readonly current: HTMLElement | null },
  { current, rowHeight, activeId }: Pick<Props<unknown>, 'current' | 'rowHeight' | 'activeId'>,
): void {
  const last = useRef({ current: -1, activeId });
  useLayoutEffect(() => {
    const element = box.current;
    const before = last.current;
    last.current = { current, activeId };
    if (element === null || current < 0) return;
    const { scrollTop: top, clientHeight: height } = element;
    const isAbove = (row: number) => row * rowHeight < top;
    const isBelow = (row: number) => (row + 1) * rowHeight > top + height;
    const isSame = activeId !== undefined && activeId === before.activeId && before.current >= 0;
    // Whoever has scrolled away from it is not brought back when rows before it come or go.
    if (isSame && (isAbove(before.current) || isBelow(before.current))) return;
    if (isAbove(current)) element.scrollTop = current * rowHeight;
    else if (isBelow(current)) element.scrollTop = (current + 1) * rowHeight - height;
  }, [current, activeId]);
}
