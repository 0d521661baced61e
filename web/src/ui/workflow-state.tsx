/** Whether a workflow can run: a mark, a word and a colour, as of any status. */
import { StatusMark } from './status.tsx';
import { words } from './workflow-words.ts';

export interface Verdict {
  valid: boolean;
  /** Left out of lists if it is not known without the whole definition. */
  runnable?: boolean;
}

export function WorkflowState({ valid, runnable = valid }: Verdict) {
  const state = !valid ? 'draft' : runnable ? 'ready' : 'blocked';
  const status = { draft: 'faulted', blocked: 'waiting', ready: 'completed' } as const;
  return (
    <span class={`status-${status[state]} status`} title={words.explained[state]}>
      <StatusMark status={status[state]} /> {words.states[state]}
    </span>
  );
}
