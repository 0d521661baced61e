/** Which entries of the log are shown, and the log as plain text. */
import type { LogEntry } from '../../../../client/index.ts';
import type { Step } from './fold-run.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];

export interface LogFilter {
  level: Level;
  /** Part of the message, the pointer or the type, in any case. */
  text: string;
  /** Only entries of this step and of those inside it. */
  step: Step | undefined;
}

export function matching(
  events: readonly LogEntry[],
  steps: readonly Step[],
  { level, text, step }: LogFilter,
): LogEntry[] {
  const least = LEVELS.indexOf(level);
  const wanted = text.trim().toLowerCase();
  const keys = step === undefined ? null : keysInside(steps, step);
  return events.filter(
    (event) =>
      LEVELS.indexOf(event.level) >= least &&
      (wanted === '' ||
        `${event.message}\n${event.task ?? ''}\n${event.type}`.toLowerCase().includes(wanted)) &&
      (keys === null || keys.has(`${event.task ?? ''}#${String(event.data['visit'])}`)),
  );
}

/** Keys of a step and of all steps inside it; steps come after the one that holds them. */
function keysInside(steps: readonly Step[], { key }: Step): Set<string> {
  const keys = new Set([key]);
  for (const step of steps) if (step.parent !== null && keys.has(step.parent)) keys.add(step.key);
  return keys;
}

/** The entries of the step itself. */
export function entriesOf(events: readonly LogEntry[], { reference, visit }: Step): LogEntry[] {
  return events.filter(({ task, data }) => task === reference && data['visit'] === visit);
}

export function plainText(events: readonly LogEntry[]): string {
  return events
    .map(({ seq, at, level, task, message }) => [seq, at, level, task ?? '-', message].join('\t'))
    .join('\n');
}
