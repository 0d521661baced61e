/** Places the parts of a diagram: a list is a column in the order of declaration, branches stand side by side. */
import type { DiagramGroup, DiagramList, DiagramTask } from './structure.ts';

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedTask extends Box {
  task: DiagramTask;
  groups: PlacedGroup[];
}

export interface PlacedGroup extends Box {
  title: string;
  list: PlacedList;
}

export interface PlacedList extends Box {
  tasks: PlacedTask[];
  edges: PlacedEdge[];
}

/** `lane`: null for a straight line to the next task, else the x of the detour beside the column. */
export interface PlacedEdge {
  from: number;
  to: number | 'end' | 'exit';
  label: string;
  lane: number | null;
}

const GAP = 36;
const PADDING = 14;
const TITLE = 40;
const GROUP_TITLE = 22;
const LANE = 18;
const MIN_WIDTH = 120;

export const LEAF_HEIGHT = 44;

/** Coordinates are relative to the parts' parent; pixels. */
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
  return { x: 0, y: 0, width: Math.max(0, x - GAP), height: Math.max(0, ...tasks.map(({ height }) => height)), tasks, edges: [] };
}

function column(tasks: PlacedTask[], list: DiagramList, root: boolean): PlacedList {
  const width = Math.max(0, ...tasks.map((task) => task.width));
  let y = 0;
  for (const task of tasks) {
    task.x = (width - task.width) / 2;
    task.y = y;
    y += task.height + GAP;
  }
  let lanes = 0;
  let labels = 0;
  const edges = list.edges.map((edge): PlacedEdge => {
    const leaves = edge.to === 'exit' || (edge.to === 'end' && root);
    const straight = edge.to === edge.from + 1 || (leaves && edge.from === tasks.length - 1);
    if (straight) return { ...edge, lane: null };
    lanes++;
    labels = Math.max(labels, textWidth(edge.label, 11));
    return { ...edge, lane: width + lanes * LANE };
  });
  const detour = lanes === 0 ? 0 : (lanes + 1) * LANE + labels;
  return { x: 0, y: 0, width: width + detour, height: Math.max(0, y - GAP), tasks, edges };
}

function placeTask(task: DiagramTask): PlacedTask {
  const textSize = Math.max(textWidth(task.name, 13), textWidth(task.detail === '' ? task.kind : task.detail, 11));
  const width = Math.max(MIN_WIDTH, textSize + 2 * PADDING);
  if (task.groups.length === 0) return { x: 0, y: 0, width, height: LEAF_HEIGHT, task, groups: [] };
  const groups = task.groups.map(placeGroup);
  let y = TITLE;
  for (const group of groups) {
    group.x = PADDING;
    group.y = y;
    y += group.height + PADDING;
  }
  return { x: 0, y: 0, width: Math.max(width, ...groups.map((group) => group.width + 2 * PADDING)), height: y, task, groups };
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

/** A generous guess: no fonts are measured here. */
function textWidth(text: string, size: number): number {
  let units = 0;
  for (const character of text) units += (character.codePointAt(0) ?? 0) > 0x2e80 ? 1.1 : 0.62;
  return Math.ceil(units * size);
}
