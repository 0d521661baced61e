import { at } from '../problems.ts';
import { duration, taskBase } from '../common-shapes.ts';
import { checkDuration } from '../reusable.ts';
import { exact } from '../shape.ts';
import { inTask, type Kind } from './kind.ts';

export const waitKind: Kind = {
  schema: exact({ ...taskBase, wait: duration }),
  check(task, pointer, locals, checker) {
    checkDuration(task['wait'], at(pointer, 'wait'), inTask(locals), checker);
  },
};
