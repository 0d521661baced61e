/** The picture of a definition as boxes, lines and labels, in the order in which to paint them. */
import { LABEL_GAP, placeList, type PlacedList, type PlacedTask } from './layout.ts';
import { diagramOf, type DiagramList, type DiagramTask } from './structure.ts';

interface Point {
  x: number;
  y: number;
}

interface Frame extends Point {
  width: number;
  height: number;
}

export interface TaskPart extends Frame {
  kind: 'task';
  task: DiagramTask;
  /** Height of the part that no inner task covers. */
  titleHeight: number;
}

interface LinePart {
  kind: 'line';
  /** SVG path. */
  path: string;
  /** Its place is the left end of the base line. */
  label: (Point & { text: string }) | null;
}

export type Part = TaskPart | LinePart | (Frame & { kind: 'group'; title: string });

export interface Drawing {
  width: number;
  height: number;
  /** Centres of the circles. */
  start: Point;
  end: Point;
  parts: Part[];
  /** Number of tasks that are left out because there are too many, without those inside them. */
  omitted: number;
}

export const CIRCLE = 12;
const MARGIN = 24;
const GAP = 36;

/** Never throws, even for invalid definitions. Coordinates are in pixels. */
export function drawingOf(definition: unknown): Drawing {
  const root = diagramOf(definition);
  const list = placeList(root, 'root');
  const top = MARGIN + 2 * CIRCLE + GAP;
  const columnWidth = Math.max(2 * CIRCLE, ...list.tasks.map((task) => task.x * 2 + task.width));
  const bottom = top + list.height + GAP;
  const middle = MARGIN + columnWidth / 2;
  const end = { x: middle, y: bottom + CIRCLE };
  const goal = list.tasks.length === 0 ? bottom : top;
  const first: Part = {
    kind: 'line',
    path: `M${round(middle)} ${round(MARGIN + 2 * CIRCLE)}V${round(goal)}`,
    label: null,
  };
  return {
    width: Math.max(list.width, columnWidth) + 2 * MARGIN,
    height: bottom + 2 * CIRCLE + MARGIN,
    start: { x: middle, y: MARGIN + CIRCLE },
    end,
    parts: [first, ...listParts(list, { x: MARGIN, y: top }, end, true)],
    omitted: omittedIn(root),
  };
}

function omittedIn({ omitted, tasks }: DiagramList): number {
  const inner = tasks.flatMap(({ groups }) => groups.map(({ list }) => omittedIn(list)));
  return inner.reduce((sum, count) => sum + count, omitted);
}

/** @param end centre of the circle at which lines that end the workflow arrive */
function listParts(list: PlacedList, corner: Point, end: Point, root: boolean): Part[] {
  return [
    ...list.tasks.flatMap((task) => taskParts(task, { x: corner.x + task.x, y: corner.y + task.y }, end)),
    ...list.edges.flatMap((edge) => lineOf(list, edge, corner, end, root) ?? []),
  ];
}

function taskParts({ task, width, height, groups }: PlacedTask, { x, y }: Point, end: Point): Part[] {
  const titleHeight = groups[0]?.y ?? height;
  return [
    { kind: 'task', task, x, y, width, height, titleHeight },
    ...groups.flatMap((group): Part[] => [
      {
        kind: 'group',
        title: group.title,
        x: x + group.x,
        y: y + group.y,
        width: width - 2 * group.x,
        height: group.height,
      },
      ...listParts(group.list, { x: x + group.x + group.list.x, y: y + group.y + group.list.y }, end, false),
    ]),
  ];
}

function lineOf(
  list: PlacedList,
  { from, to, label, detour }: PlacedList['edges'][number],
  corner: Point,
  end: Point,
  root: boolean,
): LinePart | undefined {
  const source = list.tasks[from];
  const target = typeof to === 'number' ? list.tasks[to] : undefined;
  const leaves = to === 'end' || root;
  if (source === undefined || (target === undefined && !leaves)) return undefined;
  const goal =
    target === undefined
      ? { x: end.x, y: end.y - CIRCLE }
      : { x: corner.x + target.x + target.width / 2, y: corner.y + target.y };
  if (detour === null) {
    const start = { x: corner.x + source.x + source.width / 2, y: corner.y + source.y + source.height };
    return {
      kind: 'line',
      path: `M${round(start.x)} ${round(start.y)}L${round(goal.x)} ${round(goal.y)}`,
      label: label === '' ? null : { x: start.x + LABEL_GAP, y: start.y + 16, text: label },
    };
  }
  const x = corner.x + detour.lane;
  const y = corner.y + source.y + detour.below;
  const right = corner.x + source.x + source.width;
  return {
    kind: 'line',
    path:
      `M${round(right)} ${round(y)}H${round(x)}V${round(goal.y - 14)}H${round(goal.x + 8)}` +
      `L${round(goal.x + 8)} ${round(goal.y)}`,
    label: label === '' ? null : { x: right + LABEL_GAP, y: y - 3, text: label },
  };
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
