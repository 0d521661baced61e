import { STATE_COLOURS, type TaskStates } from './states.ts';
import { diagramOf, type DiagramList, type DiagramTask } from '../../language/diagram/structure.ts';

/**
 * Renders a definition as a Mermaid flowchart; `states` colours the tasks of a run. The author's texts can
 * only become labels.
 */
export function toMermaid(definition: unknown, states: TaskStates = new Map()): string {
  const lines = ['flowchart TD', '  start((start))'];
  const root = diagramOf(definition);
  writeList(root, '  ', lines);
  lines.push('  finish((end))');
  const first = root.tasks[0];
  lines.push(`  start --> ${first === undefined ? 'finish' : first.id}`);
  writeEdges(root, lines, true);
  writeStates(root, states, lines);
  return `${lines.join('\n')}\n`;
}

/** A class for each status, and the tasks that have it. */
function writeStates(root: DiagramList, states: TaskStates, lines: string[]): void {
  const byStatus = new Map<string, string[]>();
  const add = ({ tasks }: DiagramList): void => {
    for (const { id, pointer, groups } of tasks) {
      const status = states.get(pointer)?.status;
      if (status !== undefined) byStatus.set(status, [...(byStatus.get(status) ?? []), id]);
      for (const { list } of groups) add(list);
    }
  };
  add(root);
  for (const [status, ids] of byStatus) {
    lines.push(`  classDef ${status} stroke:${STATE_COLOURS[status] ?? '#777'},stroke-width:3px`);
    lines.push(`  class ${ids.join(',')} ${status}`);
  }
}

function writeList(list: DiagramList, indent: string, lines: string[]): void {
  for (const task of list.tasks) {
    if (task.groups.length === 0) {
      lines.push(`${indent}${task.id}${shapeOf(task)}`);
      continue;
    }
    lines.push(`${indent}subgraph ${task.id}["${label(titleOf(task))}"]`);
    for (const [index, group] of task.groups.entries()) {
      if (task.groups.length === 1 && group.title === '') {
        writeList(group.list, `${indent}  `, lines);
        continue;
      }
      lines.push(`${indent}  subgraph ${task.id}_${index}["${label(group.title)}"]`);
      writeList(group.list, `${indent}    `, lines);
      lines.push(`${indent}  end`);
    }
    lines.push(`${indent}end`);
  }
}

function writeEdges(list: DiagramList, lines: string[], root: boolean): void {
  for (const { from, to, label: text } of list.edges) {
    const source = list.tasks[from]?.id;
    const target =
      to === 'end' || (to === 'exit' && root) ? 'finish' : to === 'exit' ? undefined : list.tasks[to]?.id;
    if (source === undefined || target === undefined) continue;
    lines.push(`  ${source} -->${text === '' ? '' : `|"${label(text)}"|`} ${target}`);
  }
  for (const group of list.tasks.flatMap(({ groups }) => groups)) writeEdges(group.list, lines, false);
}

function shapeOf(task: DiagramTask): string {
  const text = label(titleOf(task));
  if (task.kind === 'switch') return `{"${text}"}`;
  if (task.kind === 'wait') return `(["${text}"])`;
  if (task.detail.startsWith('human')) return `[/"${text}"/]`;
  if (task.kind === 'raise') return `>"${text}"]`;
  return `["${text}"]`;
}

function titleOf({ name, kind, detail }: DiagramTask): string {
  return detail === '' ? `${name} · ${kind}` : `${name} · ${detail}`;
}

/**
 * Writes everything but plain text as Mermaid entity codes, so that no markup, directive or script gets
 * through.
 */
function label(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} .,·_-]/gu, (character) => `#${character.codePointAt(0) ?? 0};`);
}
