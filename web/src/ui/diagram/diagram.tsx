/**
 * The picture of a definition. Its tasks are buttons with one tab stop; arrow keys move in the order of the
 * definition. Lines are drawn above the boxes, and are hidden from screen readers.
 */
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { CIRCLE, drawingOf, type Drawing, type TaskPart } from '../../../../language/diagram/drawing.ts';
import { severityWords } from '../severity-words.ts';
import { StatusMark } from '../status.tsx';
import css from './diagram.module.css';
import { problemsByTask, tasksIn, type Problem, type TaskProblem, type TaskState } from './tasks.ts';
import { words } from './words.ts';

interface Props {
  /** May be invalid: then what can be drawn of it is drawn. */
  definition: unknown;
  /** JSON pointer of the chosen task. */
  chosen: string | null;
  onSelect: (pointer: string) => void;
  /** By JSON pointer; a task without one has not been reached. */
  states?: ReadonlyMap<string, TaskState>;
  problems?: readonly Problem[];
}

export function Diagram({ definition, chosen, onSelect, states, problems = [] }: Props) {
  const drawing = useMemo(() => drawingOf(definition), [definition]);
  const tasks = useMemo(() => tasksIn(drawing), [drawing]);
  const faults = useMemo(() => problemsByTask(tasks, problems), [tasks, problems]);
  const picture = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    picture.current
      ?.querySelector('[aria-pressed=true]')
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [chosen]);
  if (tasks.length === 0) return <p class="muted">{words.empty}</p>;
  const stop = tasks.findIndex(({ task }) => task.pointer === chosen);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = positionAfter(event, tasks.length);
    if (next === undefined) return;
    event.preventDefault();
    picture.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div>
      {drawing.omitted > 0 && <p class={css['omitted']}>{words.omitted(drawing.omitted)}</p>}
      <div class={css['scroll']}>
        <div
          ref={picture}
          class={css['picture']}
          style={{ width: `${drawing.width}px`, height: `${drawing.height}px` }}
          role="group"
          aria-label={words.label}
          tabIndex={-1}
          onKeyDown={onKeyDown}
        >
          {drawing.parts.map((part) =>
            part.kind === 'task' ? (
              <Task
                key={part.task.id}
                part={part}
                state={states?.get(part.task.pointer)}
                isReached={states === undefined || states.has(part.task.pointer)}
                problem={faults.get(part.task.pointer)}
                isChosen={part.task.pointer === chosen}
                isStop={part === tasks[Math.max(0, stop)]}
                onSelect={onSelect}
              />
            ) : part.kind === 'group' ? (
              <div class={css['group']} style={placeOf(part)}>
                {part.title}
              </div>
            ) : null,
          )}
          <Lines drawing={drawing} />
        </div>
      </div>
    </div>
  );
}

interface TaskProps {
  part: TaskPart;
  state: TaskState | undefined;
  isReached: boolean;
  problem: TaskProblem | undefined;
  isChosen: boolean;
  /** Whether Tab leads here. */
  isStop: boolean;
  onSelect: Props['onSelect'];
}

function Task({ part, state, isReached, problem, isChosen, isStop, onSelect }: TaskProps) {
  const { task } = part;
  const detail = task.detail === '' ? task.kind : task.detail;
  const badge = badgeOf(state, problem);
  return (
    <div
      class={css['task']}
      style={placeOf(part)}
      data-status={state?.status}
      data-reached={isReached}
      data-holds={task.groups.length > 0}
      data-problem={problem?.severity}
      data-chosen={isChosen}
    >
      <button
        type="button"
        class={css['title']}
        style={{ height: `${part.titleHeight}px` }}
        tabIndex={isStop ? 0 : -1}
        aria-pressed={isChosen}
        title={problem?.message}
        onClick={() => onSelect(task.pointer)}
      >
        <span class={css['name']}>
          {state !== undefined && <StatusMark status={state.status} />}
          {state !== undefined && <span class="hidden-text">{state.status} </span>}
          {task.name}
        </span>
        <span class={css['detail']}>{detail}</span>
        {badge !== '' && <span class={css['badge']}> {badge}</span>}
        {problem !== undefined && <span class="hidden-text">: {problem.message}</span>}
      </button>
    </div>
  );
}

function Lines({ drawing: { width, height, start, end, parts } }: { drawing: Drawing }) {
  const lines = parts.filter((part) => part.kind === 'line');
  const arrow = useId();
  return (
    <svg class={css['lines']} width={width} height={height} aria-hidden="true">
      <defs>
        <marker id={arrow} viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0L8 4L0 8z" />
        </marker>
      </defs>
      <circle cx={start.x} cy={start.y} r={CIRCLE - 5} />
      <circle cx={end.x} cy={end.y} r={CIRCLE - 5} />
      <circle class={css['ring']} cx={end.x} cy={end.y} r={CIRCLE - 1} />
      {lines.map(({ path, label }) => (
        <g key={path}>
          <path class={css['line']} d={path} marker-end={`url(#${arrow})`} />
          {label !== null && (
            <text x={label.x} y={label.y}>
              {label.text}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

/** What is done needs no word beside its mark; what is not stands out by one, and so does a problem. */
function badgeOf(state: TaskState | undefined, problem: TaskProblem | undefined): string {
  return [
    state === undefined || state.status === 'completed' ? '' : state.status,
    state?.note ?? '',
    problem === undefined ? '' : severityWords[problem.severity],
  ]
    .filter((word) => word !== '')
    .join(' · ');
}

function placeOf({ x, y, width, height }: { x: number; y: number; width: number; height: number }) {
  return { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` };
}

/** Where a key moves the focus; undefined if it is none of ours. */
function positionAfter({ key, target }: KeyboardEvent, count: number): number | undefined {
  if (!(target instanceof HTMLElement)) return undefined;
  const buttons = [...(target.closest('[role=group]')?.querySelectorAll('button') ?? [])];
  const at = buttons.findIndex((button) => button === target);
  const to = {
    ArrowDown: at + 1,
    ArrowRight: at + 1,
    ArrowUp: at - 1,
    ArrowLeft: at - 1,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined || at < 0 ? undefined : Math.min(Math.max(to, 0), count - 1);
}
