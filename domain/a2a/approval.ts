import type { HumanTask } from '../hitl/human-task.ts';

/** The task's words for yes and no; null if it is no approval: not two decisions, one of which is `reject`. */
export function approvalWords({ decisions }: Pick<HumanTask, 'decisions'>): { yes: string; no: string } | null {
  const words = decisions.map(({ id }) => id);
  const yes = words.find((word) => word !== 'reject');
  return words.length === 2 && words.includes('reject') && yes !== undefined ? { yes, no: 'reject' } : null;
}
