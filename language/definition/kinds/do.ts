import { at } from '../problems.ts';
import { taskBase, taskList } from '../common-shapes.ts';
import { exact } from '../shape.ts';
import type { Kind } from './kind.ts';

export const doKind: Kind = {
  schema: exact({ ...taskBase, do: taskList }),
  check(task, pointer, locals, checker) {
    checker.tasks(task['do'], at(pointer, 'do'), locals);
  },
};
