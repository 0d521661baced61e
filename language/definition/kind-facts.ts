import type { ExtensionTarget, TaskKind } from './model.ts';

/** Facts about a task kind that walks over a definition need, besides its check and its runner. */
interface KindFacts {
  /** Name of the kind in `extend` of an extension. */
  extension: ExtensionTarget;
  /** Whether the task waits or calls something, so that a loop over it is not a busy loop. */
  takesTime: boolean;
  /** Paths of the task lists inside the task. Walkers ask `listPathsOf`, which also knows functions. */
  lists: readonly (readonly string[])[];
}

/** `for` comes before `do`, because a for task has both keys. */
export const KIND_FACTS: Record<TaskKind, KindFacts> = {
  for: { extension: 'for', takesTime: false, lists: [['do']] },
  try: { extension: 'try', takesTime: false, lists: [['try'], ['catch', 'do']] },
  listen: { extension: 'listen', takesTime: true, lists: [['foreach', 'do']] },
  call: { extension: 'call', takesTime: true, lists: [] },
  do: { extension: 'composite', takesTime: false, lists: [['do']] },
  emit: { extension: 'emit', takesTime: false, lists: [] },
  fork: { extension: 'composite', takesTime: false, lists: [['fork', 'branches']] },
  raise: { extension: 'raise', takesTime: false, lists: [] },
  run: { extension: 'run', takesTime: true, lists: [] },
  set: { extension: 'set', takesTime: false, lists: [] },
  switch: { extension: 'switch', takesTime: false, lists: [] },
  wait: { extension: 'wait', takesTime: true, lists: [] },
};

// Safe: the record has no other keys, which the type of `Object.keys` does not express.
export const TASK_KINDS = Object.keys(KIND_FACTS) as readonly TaskKind[];
