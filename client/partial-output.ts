/** What a call with `stream: true` produces while it runs: in the stream of its run, and nowhere else. */
export interface PartialOutput {
  /** `output` continues the call's output, `progress` replaces what the agent said that it does. */
  type: 'io.cadenza.task.output.v1' | 'io.cadenza.task.progress.v1';
  /** JSON pointer. */
  task: string;
  visit: number;
  attempt: number;
  /** How many characters of the output come before `text`: 0 begins anew, and a gap was lost. */
  offset: number | null;
  text: string;
}

/** Whether data of a run's stream is no entry of its log. */
export function isPartial<Entry extends object>(data: Entry | PartialOutput): data is PartialOutput {
  return !('seq' in data);
}
