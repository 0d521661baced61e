/** Lays out a diagram. A list is a column in the order of declaration; parallel branches are side by side. */
import type { DiagramEdge, DiagramGroup, DiagramList, DiagramTask } from './structure.ts';

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedTask extends Box {
  task: DiagramTask;
  groups: PlacedGroup[];
}

interface PlacedGroup extends Box {
  title: string;
  list: PlacedList;
}

export interface PlacedList extends Box {
  tasks: PlacedTask[];
  edges: PlacedEdge[];
}

/**
 * `detour` is null for a straight line to the next task. Otherwise it gives where the line leaves its task
 * and the x of its lane beside the column.
 */
interface PlacedEdge {
  from: number;
  to: number | 'end' | 'exit';
  label: string;
  detour: { lane: number; below: number } | null;
}

const GAP = 36;
const PADDING = 14;
const TITLE = 40;
const GROUP_TITLE = 22;
const LANE = 18;
const MIN_WIDTH = 120;

/** Height of one detour at the side of its task, with its label above it. */
const EXIT_HEIGHT = 16;

const LEAF_HEIGHT = 44;
export const LABEL_SIZE = 11;
/** Gap between a line and its label. */
export const LABEL_GAP = 6;

/** Coordinates are in pixels, relative to the parent. */
export function placeList(list: DiagramList, kind: 'root' | 'sequence' | 'parallel'): PlacedList {
  const tasks = list.tasks.map(placeTask);
  return kind === 'parallel' ? row(tasks) : column(tasks, list, kind === 'root');
}

function row(tasks: PlacedTask[]): PlacedList {
  let x = 0;
  for (const task of tasks) {
    task.x = x;
    x += task.width + GAP;
  }
  return {
    x: 0,
    y: 0,
    width: Math.max(0, x - GAP),
    height: Math.max(0, ...tasks.map(({ height }) => height)),
    tasks,
    edges: [],
  };
}

/** Labels are placed between the tasks and the lanes, each at its own height, so that none covers another. */
function column(tasks: PlacedTask[], list: DiagramList, root: boolean): PlacedList {
  const width = Math.max(0, ...tasks.map((task) => task.width));
  const leaves = ({ to }: DiagramEdge): boolean => to === 'exit' || (to === 'end' && root);
  const isStraight = (edge: DiagramEdge): boolean =>
    edge.to === edge.from + 1 || (leaves(edge) && edge.from === tasks.length - 1);
  const straight = mergeParallelEdges(list.edges.filter(isStraight));
  const detours = list.edges.filter((edge) => !isStraight(edge));
  const exits = new Map<number, number>();
  for (const { from } of detours) exits.set(from, (exits.get(from) ?? 0) + 1);

  let y = 0;
  for (const [index, task] of tasks.entries()) {
    task.x = (width - task.width) / 2;
    task.y = y;
    task.height = Math.max(task.height, ((exits.get(index) ?? 0) + 1) * EXIT_HEIGHT);
    y += task.height + GAP;
  }
  const labels = Math.max(
    0,
    ...detours.map(({ label }) => (label === '' ? 0 : textWidth(label, LABEL_SIZE) + 2 * LABEL_GAP)),
  );
  const left = new Map<number, number>();
  const placed = detours.map((edge, index): PlacedEdge => {
    const nth = (left.get(edge.from) ?? 0) + 1;
    left.set(edge.from, nth);
    const side = Math.max(LEAF_HEIGHT, ((exits.get(edge.from) ?? 0) + 1) * EXIT_HEIGHT);
    const below = (side * nth) / ((exits.get(edge.from) ?? 0) + 1);
    return { ...edge, detour: { lane: width + labels + (index + 1) * LANE, below } };
  });
  const labelRight = Math.max(
    0,
    ...straight.map(({ label }) => width / 2 + LABEL_GAP + textWidth(label, LABEL_SIZE)),
  );
  const lanes = detours.length === 0 ? 0 : labels + (detours.length + 1) * LANE;
  const edges = [...straight.map((edge): PlacedEdge => ({ ...edge, detour: null })), ...placed];
  return {
    x: 0,
    y: 0,
    width: Math.max(width + lanes, labelRight),
    height: Math.max(0, y - GAP),
    tasks,
    edges,
  };
}

/** Merges edges between the same two tasks into one line with all their labels. */
function mergeParallelEdges(edges: readonly DiagramEdge[]): DiagramEdge[] {
  const byTask = new Map<number, DiagramEdge>();
  for (const edge of edges) {
    const known = byTask.get(edge.from);
    byTask.set(
      edge.from,
      known ? { ...edge, label: [known.label, edge.label].filter((label) => label !== '').join(', ') } : edge,
    );
  }
  return [...byTask.values()];
}

function placeTask(task: DiagramTask): PlacedTask {
  const textSize = Math.max(
    textWidth(task.name, 13),
    textWidth(task.detail === '' ? task.kind : task.detail, 11),
  );
  const width = Math.max(MIN_WIDTH, textSize + 2 * PADDING);
  if (task.groups.length === 0) return { x: 0, y: 0, width, height: LEAF_HEIGHT, task, groups: [] };
  const groups = task.groups.map(placeGroup);
  let y = TITLE;
  for (const group of groups) {
    group.x = PADDING;
    group.y = y;
    y += group.height + PADDING;
  }
  return {
    x: 0,
    y: 0,
    width: Math.max(width, ...groups.map((group) => group.width + 2 * PADDING)),
    height: y,
    task,
    groups,
  };
}

function placeGroup({ title, parallel, list }: DiagramGroup): PlacedGroup {
  const placed = placeList(list, parallel ? 'parallel' : 'sequence');
  placed.x = PADDING;
  placed.y = title === '' ? PADDING : GROUP_TITLE + PADDING / 2;
  return {
    x: 0,
    y: 0,
    width: Math.max(placed.width, textWidth(title, 11)) + 2 * PADDING,
    height: placed.y + placed.height + PADDING,
    title,
    list: placed,
  };
}

/** A generous estimate of the width in pixels: no fonts are measured here. */
export function textWidth(text: string, size: number): number {
  let units = 0;
  for (const character of text) units += (character.codePointAt(0) ?? 0) > 0x2e80 ? 1.1 : 0.62;
  return Math.ceil(units * size);
}
