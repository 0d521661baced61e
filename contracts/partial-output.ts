/**
 * What a call with `stream: true` produces while it runs: events of a run's stream that no log keeps
 * (docs/events-and-files.md#follow-the-output-of-a-call).
 */

export const PARTIAL = {
  /** Text that continues the call's output. */
  output: 'io.cadenza.task.output.v1',
  /** What the agent says that it does; replaces what it said before. */
  progress: 'io.cadenza.task.progress.v1',
} as const;

export interface PartialOutput {
  type: (typeof PARTIAL)[keyof typeof PARTIAL];
  /** JSON pointer. */
  task: string;
  visit: number;
  attempt: number;
  /** How many characters (UTF-16 code units) of the call's output come before the text; null for progress. */
  offset: number | null;
  text: string;
}
