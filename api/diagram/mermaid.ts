import { diagramOf, type DiagramList, type DiagramTask } from '../../language/diagram/structure.ts';

/** Renders a definition as a Mermaid flowchart. The author's texts can only become labels. */
export function toMermaid(definition: unknown): string {
  const lines = ['flowchart TD', '  start((start))'];
  const root = diagramOf(definition);
  writeList(root, '  ', lines);
  lines.push('  finish((end))');
  const first = root.tasks[0];
  lines.push(`  start --> ${first === undefined ? 'finish' : first.id}`);
  writeEdges(root, lines, true);
  return `${lines.join('\n')}\n`;
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
