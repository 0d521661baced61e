/** The events of a human task that nobody in particular makes: the run's end, a lost competition, the clock. */
import { EVENT } from '../../contracts/run-events.ts';
import type { NewRunEvent } from '../../contracts/run-events.ts';

export interface TaskReference {
  id: string;
  /** JSON pointer. */
  task: string;
  task_name: string;
}

export function cancelledEvent({ id, task, task_name }: TaskReference): NewRunEvent {
  return made(`hitl:${id}:cancelled`, EVENT.hitlCancelled, 'info', id, task, `${task_name}: nobody needs to decide it any more`);
}

export function expiredEvent({ id, task, task_name }: TaskReference): NewRunEvent {
  return made(`hitl:${id}:expired`, EVENT.hitlExpired, 'warn', id, task, `${task_name}: nobody decided in time`);
}

function made(key: string, type: string, level: NewRunEvent['level'], id: string, task: string, message: string): NewRunEvent {
  return { key, type, at: new Date().toISOString(), level, task, message, data: { hitl_task_id: id } };
}
