import { LEAF_HEIGHT, placeList, type PlacedList, type PlacedTask } from './layout.ts';
import { diagramOf } from './structure.ts';

const MARGIN = 24;
const CIRCLE = 12;
const GAP = 36;

const COLOURS: Record<string, string> = {
  call: '#e8f0fe',
  human: '#fff3d6',
  switch: '#f3e8fd',
  raise: '#fde8e8',
  wait: '#e6f4ea',
};

/**
 * A definition as a picture that needs no script, font or style from elsewhere. The same definition always gives the
 * same text. What the author wrote is text content only, escaped.
 */
export function toSvg(definition: unknown): string {
  const list = placeList(diagramOf(definition), 'root');
  const top = MARGIN + 2 * CIRCLE + GAP;
  const columnWidth = Math.max(2 * CIRCLE, ...list.tasks.map((task) => task.x * 2 + task.width));
  const width = Math.max(list.width, columnWidth) + 2 * MARGIN;
  const bottom = top + list.height + GAP;
  const height = bottom + 2 * CIRCLE + MARGIN;
  const middle = MARGIN + columnWidth / 2;
  const end = { x: middle, y: bottom + CIRCLE };
  const first = list.tasks[0];
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}" font-family="sans-serif">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
    `<rect width="100%" height="100%" fill="#fff"/>`,
    circle(middle, MARGIN + CIRCLE, false),
    circle(end.x, end.y, true),
    line(`M${round(middle)} ${round(MARGIN + 2 * CIRCLE)}V${round(first === undefined ? bottom : top)}`),
  ];
  drawList(list, MARGIN, top, parts, end, true);
  parts.push('</svg>');
  return `${parts.join('\n')}\n`;
}

interface Point {
  x: number;
  y: number;
}

function drawList(list: PlacedList, left: number, top: number, parts: string[], end: Point, root: boolean): void {
  for (const task of list.tasks) drawTask(task, left + task.x, top + task.y, parts, end);
  for (const { from, to, label, lane } of list.edges) {
    const source = list.tasks[from];
    if (source === undefined) continue;
    const target = typeof to === 'number' ? list.tasks[to] : undefined;
    const leaves = to === 'end' || root;
    if (target === undefined && !leaves) continue;
    const goal = target === undefined ? { x: end.x, y: end.y - CIRCLE } : { x: left + target.x + target.width / 2, y: top + target.y };
    const start = { x: left + source.x + source.width / 2, y: top + source.y + source.height };
    if (lane === null) {
      parts.push(line(`M${round(start.x)} ${round(start.y)}L${round(goal.x)} ${round(goal.y)}`));
      if (label !== '') parts.push(text(start.x + 6, start.y + 16, 11, label, '#555'));
      continue;
    }
    const x = left + lane;
    const y = top + source.y + Math.min(source.height, LEAF_HEIGHT) / 2;
    const right = left + source.x + source.width;
    parts.push(line(`M${round(right)} ${round(y)}H${round(x)}V${round(goal.y - 14)}H${round(goal.x + 8)}L${round(goal.x + 8)} ${round(goal.y)}`));
    if (label !== '') parts.push(text(x + 4, y - 4, 11, label, '#555'));
  }
}

function drawTask(placed: PlacedTask, x: number, y: number, parts: string[], end: Point): void {
  const { task, width, height, groups } = placed;
  const human = task.detail.startsWith('human');
  const fill = groups.length > 0 ? '#fafafa' : (COLOURS[human ? 'human' : task.kind] ?? '#f5f5f5');
  const dashed = task.kind === 'try' || task.kind === 'for' ? ' stroke-dasharray="4 3"' : '';
  parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="6" fill="${fill}" stroke="#777"${dashed}/>`);
  parts.push(text(x + width / 2, y + 18, 13, task.name, '#111', 'middle'), text(x + width / 2, y + 34, 11, task.detail === '' ? task.kind : task.detail, '#555', 'middle'));
  for (const group of groups) {
    const groupX = x + group.x;
    const groupY = y + group.y;
    parts.push(`<rect x="${round(groupX)}" y="${round(groupY)}" width="${round(width - 2 * group.x)}" height="${round(group.height)}" rx="4" fill="#fff" stroke="#ccc"/>`);
    if (group.title !== '') parts.push(text(groupX + 8, groupY + 15, 11, group.title, '#777'));
    drawList(group.list, groupX + group.list.x, groupY + group.list.y, parts, end, false);
  }
}

function circle(x: number, y: number, end: boolean): string {
  const ring = end ? `<circle cx="${round(x)}" cy="${round(y)}" r="${CIRCLE}" fill="none" stroke="#333"/>` : '';
  return `${ring}<circle cx="${round(x)}" cy="${round(y)}" r="${end ? CIRCLE - 4 : CIRCLE}" fill="#333"/>`;
}

function line(path: string): string {
  return `<path d="${path}" fill="none" stroke="#555" marker-end="url(#arrow)"/>`;
}

function text(x: number, y: number, size: number, content: string, colour: string, anchor = 'start'): string {
  return `<text x="${round(x)}" y="${round(y)}" font-size="${size}" fill="${colour}" text-anchor="${anchor}">${escape(content)}</text>`;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Characters that XML cannot hold are left out (the labels have no control characters already). */
function escape(content: string): string {
  return content.replaceAll(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '').replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
