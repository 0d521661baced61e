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
  const { items, rowHeight, current, role } = props;
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
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || current < 0) return;
    const [top, bottom] = [current * rowHeight, (current + 1) * rowHeight];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight;
  }, [current, items.length]);
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
