/** What the inbox picker shows, and what a key does to it. No terminal here: tests run it as it is. */
import { oneLine, shorten, type Paint } from './text.ts';

export interface Row {
  id: string;
  text: string;
  detail: string;
  /** The decisions that the task offers. */
  decisions: readonly string[];
}

export interface PickerState {
  rows: readonly Row[];
  at: number;
  /** What Enter will send. */
  prepared: string | null;
  note: string;
}

export type Effect =
  | { kind: 'show'; row: Row }
  | { kind: 'claim'; row: Row }
  | { kind: 'decide'; row: Row; decision: string }
  | { kind: 'reload' }
  | { kind: 'quit' };

interface Step {
  state: PickerState;
  effect?: Effect;
}

export const firstState = (rows: readonly Row[]): PickerState => ({ rows, at: 0, prepared: null, note: '' });

/** A letter prepares a decision, Enter sends it, as in the console. */
export function press(state: PickerState, key: string): Step {
  const { rows, at, prepared } = state;
  const row = rows[at];
  const move = (to: number): Step => ({
    state: { ...state, at: Math.max(0, Math.min(to, rows.length - 1)), prepared: null, note: '' },
  });
  switch (key) {
    case 'j':
    case '\u001b[B':
      return move(at + 1);
    case 'k':
    case '\u001b[A':
      return move(at - 1);
    case 'g':
      return move(0);
    case 'G':
      return move(rows.length - 1);
    case 'a':
      return prepare(state, row, 'approve');
    case 'r':
      return prepare(state, row, 'reject');
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      return prepare(state, row, row?.decisions[Number(key) - 1]);
    case '\r':
    case '\n':
      if (row === undefined) return { state };
      return prepared === null
        ? { state, effect: { kind: 'show', row } }
        : { state: { ...state, prepared: null }, effect: { kind: 'decide', row, decision: prepared } };
    case 'c':
      return row === undefined ? { state } : { state, effect: { kind: 'claim', row } };
    case 'R':
      return { state, effect: { kind: 'reload' } };
    case '\u001b':
      return prepared === null ? { state, effect: { kind: 'quit' } } : move(at);
    case 'q':
    case '\u0004':
      return { state, effect: { kind: 'quit' } };
    default:
      return { state };
  }
}

function prepare(state: PickerState, row: Row | undefined, decision: string | undefined): Step {
  if (row === undefined) return { state };
  if (decision === undefined || !row.decisions.includes(decision)) {
    const offered = row.decisions.map((word, index) => `${index + 1} ${oneLine(word)}`);
    const note = `This task offers: ${offered.join(', ')}.`;
    return { state: { ...state, prepared: null, note } };
  }
  return { state: { ...state, prepared: decision, note: '' } };
}

/** The row of a task is gone: the next one takes its place. */
export function without(state: PickerState, id: string, note: string): PickerState {
  const rows = state.rows.filter((row) => row.id !== id);
  return { rows, at: Math.max(0, Math.min(state.at, rows.length - 1)), prepared: null, note };
}

const KEYS = 'j/k move   Enter show   a approve   r reject   1-9 decide   c claim   R reload   q quit';

export function pickerLines(state: PickerState, width: number, height: number, paint: Paint): string[] {
  const { rows, at, prepared, note } = state;
  const visible = Math.max(height - 4, 3);
  const from = Math.max(0, Math.min(at - Math.floor(visible / 2), rows.length - visible));
  const list = rows.slice(from, from + visible).map(({ text, detail }, index) => {
    const isChosen = from + index === at;
    const line = shorten(`${isChosen ? '›' : ' '} ${oneLine(text)}  ${oneLine(detail)}`, width);
    return isChosen ? paint('bold', line) : line;
  });
  const row = rows[at];
  const footer =
    prepared !== null && row !== undefined
      ? paint('yellow', shorten(`${prepared} “${oneLine(row.text)}”?  Enter sends, Esc goes back`, width))
      : paint('dim', shorten(KEYS, width));
  const empty = rows.length === 0 ? ['Nothing waits for you.'] : [];
  return [...list, ...empty, shorten(oneLine(note), width), footer];
}
