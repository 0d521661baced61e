import { escapeHtml } from '../../contracts/escape-html.ts';
import { CIRCLE, drawingOf, type Part, type TaskPart } from '../../language/diagram/drawing.ts';
import { LABEL_SIZE } from '../../language/diagram/layout.ts';
import { STATE_COLOURS, stateText, type TaskStates } from './states.ts';

const COLOURS: Record<string, string> = {
  call: '#e8f0fe',
  human: '#fff3d6',
  switch: '#f3e8fd',
  raise: '#fde8e8',
  wait: '#e6f4ea',
};

/**
 * Renders a definition as SVG without scripts, external fonts or styles. The output is deterministic. The
 * author's texts appear only as escaped text content. `states` colours the tasks of a run.
 */
export function toSvg(definition: unknown, states: TaskStates = new Map()): string {
  const { width, height, start, end, parts } = drawingOf(definition);
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}"` +
      ` viewBox="0 0 ${round(width)} ${round(height)}" font-family="sans-serif">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"' +
      ' orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
    `<rect width="100%" height="100%" fill="#fff"/>`,
    circle(start.x, start.y, false),
    circle(end.x, end.y, true),
    ...parts.flatMap((part) => draw(part, states)),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function draw(part: Part, states: TaskStates): string[] {
  switch (part.kind) {
    case 'task':
      return drawTask(part, states);
    case 'group': {
      const { title, x, y, width, height } = part;
      const frame =
        `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}"` +
        ` height="${round(height)}" rx="4" fill="#fff" stroke="#ccc"/>`;
      return title === '' ? [frame] : [frame, text(x + 8, y + 15, 11, title, '#777')];
    }
    case 'line': {
      const { path, label } = part;
      const line = `<path d="${path}" fill="none" stroke="#555" marker-end="url(#arrow)"/>`;
      return label === null ? [line] : [line, text(label.x, label.y, LABEL_SIZE, label.text, '#555')];
    }
  }
}

function drawTask({ task, x, y, width, height }: TaskPart, states: TaskStates): string[] {
  const human = task.detail.startsWith('human');
  const fill = task.groups.length > 0 ? '#fafafa' : (COLOURS[human ? 'human' : task.kind] ?? '#f5f5f5');
  const dashed = task.kind === 'try' || task.kind === 'for' ? ' stroke-dasharray="4 3"' : '';
  const colour = STATE_COLOURS[states.get(task.pointer)?.status ?? ''];
  const stroke = colour === undefined ? 'stroke="#777"' : `stroke="${colour}" stroke-width="3"`;
  const state = stateText(states, task.pointer);
  const title = state === '' ? '' : `<title>${escape(`${task.name}: ${state}`)}</title>`;
  return [
    `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="6"` +
      ` fill="${fill}" ${stroke}${dashed}${title === '' ? '/>' : `>${title}</rect>`}`,
    text(x + width / 2, y + 18, 13, task.name, '#111', 'middle'),
    text(x + width / 2, y + 34, 11, task.detail === '' ? task.kind : task.detail, '#555', 'middle'),
  ];
}

function circle(x: number, y: number, end: boolean): string {
  const ring = end
    ? `<circle cx="${round(x)}" cy="${round(y)}" r="${CIRCLE}" fill="none" stroke="#333"/>`
    : '';
  return `${ring}<circle cx="${round(x)}" cy="${round(y)}" r="${end ? CIRCLE - 4 : CIRCLE}" fill="#333"/>`;
}

function text(x: number, y: number, size: number, content: string, colour: string, anchor = 'start'): string {
  return (
    `<text x="${round(x)}" y="${round(y)}" font-size="${size}" fill="${colour}"` +
    ` text-anchor="${anchor}">${escape(content)}</text>`
  );
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/**
 * Escapes text for XML and drops characters that XML cannot contain. Labels have no control characters at
 * this point.
 */
function escape(content: string): string {
  return escapeHtml(content.replaceAll(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, ''));
}
