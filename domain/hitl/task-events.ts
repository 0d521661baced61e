/** Events of human tasks without an actor: the run's end, a lost competition, the expiry. */
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT, type NewRunEvent } from '../../contracts/run-events.ts';

export interface TaskReference {
  id: string;
  /** JSON pointer. */
  task: string;
  task_name: string;
}

export function cancelledEvent({ id, task, task_name }: TaskReference): NewRunEvent {
  return taskEvent(
    `hitl:${id}:cancelled`,
    EVENT.hitlCancelled,
    'info',
    id,
    task,
    LOG_TEXT.hitlCancelled(task_name),
  );
}

export function expiredEvent({ id, task, task_name }: TaskReference): NewRunEvent {
  return taskEvent(
    `hitl:${id}:expired`,
    EVENT.hitlExpired,
    'warn',
    id,
    task,
    LOG_TEXT.hitlExpired.inService(task_name),
  );
}

function taskEvent(
  key: string,
  type: string,
  level: NewRunEvent['level'],
  id: string,
  task: string,
  message: string,
): NewRunEvent {
  return { key, type, at: new Date().toISOString(), level, task, message, data: { hitl_task_id: id } };
}
