/**
 * Remembers whether the run has read the time in this workflow task, for anything but its log. If the task is
 * lost, its repetition reads another time and may go another way, so no short call may follow before the task
 * is recorded (docs/adr/0030).
 */
let seen = false;

/** Milliseconds since the epoch. */
export function readClock(): number {
  seen = true;
  return Date.now();
}

export function hasReadClock(): boolean {
  return seen;
}

/** Whatever was read is in the history now. */
export function clockRecorded(): void {
  seen = false;
}

/**
 * Descriptors tell when the workflow and its tasks have started. Their reading is not seen, so any expression
 * that may read them counts: `$task` and `$workflow` with another property than these.
 */
const MAY_READ_START = /\$(?:task|workflow)\b(?!\s*\.\s*(?:id|name|reference|definition|input|output)\b)/;

/** Whether an expression of the definition may read when the workflow or a task has started. */
export function mayReadStart(definition: unknown): boolean {
  if (typeof definition === 'string') return MAY_READ_START.test(definition);
  if (typeof definition !== 'object' || definition === null) return false;
  return Object.values(definition).some(mayReadStart);
}
