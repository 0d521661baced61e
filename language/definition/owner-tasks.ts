/** Finds human tasks that the run's owner alone may decide, because they name nobody else. */
import { humanTasks } from './human-tasks.ts';
import { own } from './problems.ts';

/** Keys of `with` that name people; those of `escalate` come later. */
const PEOPLE = ['assignee', 'candidates', 'escalate'];

/** JSON pointers of the tasks, in the order of the definition. */
export function ownerTasks(definition: unknown): string[] {
  return humanTasks(definition)
    .filter(({ given }) => PEOPLE.every((key) => own(given, key) === undefined))
    .map(({ pointer }) => pointer);
}
