/** How the state of a run's tasks is drawn. */

/** By JSON pointer into the definition: the last visit of each task that has started. */
export type TaskStates = ReadonlyMap<string, { status: string; visits: number }>;

export const STATE_COLOURS: Readonly<Record<string, string>> = {
  running: '#1a73e8',
  waiting: '#b06000',
  completed: '#188038',
  faulted: '#c5221f',
  cancelled: '#5f6368',
};

/** Such as `completed ×4`; empty for a task that has not started. */
export function stateText(states: TaskStates, pointer: string): string {
  const state = states.get(pointer);
  if (state === undefined) return '';
  return state.visits > 1 ? `${state.status} ×${state.visits}` : state.status;
}
