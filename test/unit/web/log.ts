import type { LogEntry } from '../../../client/index.ts';

/** A log of a run that starts at a fixed time. */
export function logOf(
  ...entries: [ms: number, type: string, task: string | null, data?: object][]
): LogEntry[] {
  return entries.map(([ms, type, task, data = {}], index) => ({
    seq: index + 1,
    at: new Date(1_750_000_000_000 + ms).toISOString(),
    level: 'info',
    type,
    task,
    message: '',
    data: { ...data },
  }));
}
