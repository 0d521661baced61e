/** The data of a run that expressions can be tried on. */
import type { Run } from '../../../../client/index.ts';
import { words } from './words.ts';

interface RunData {
  label: string;
  /** As JSON. */
  text: string;
}

/** The input and the output of a run, and the output of each task that its last log entries name. */
export function dataOf(run: Pick<Run, 'input_params' | 'output' | 'status' | 'logs'> | null): RunData[] {
  if (run === null) return [];
  const outputs = new Map<string, unknown>();
  for (const { task, data } of run.logs)
    if (task !== null && 'output' in data) outputs.set(task.split('/').at(-1) ?? task, data['output']);
  return [
    entry(words.try.input, run.input_params ?? {}),
    ...[...outputs].map(([name, output]) => entry(words.try.outputOf(name), output)),
    ...(run.status === 'completed' ? [entry(words.try.output, run.output)] : []),
  ];
}

function entry(label: string, value: unknown): RunData {
  return { label, text: JSON.stringify(value ?? null, null, 2) };
}
