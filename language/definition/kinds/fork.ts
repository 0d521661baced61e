import { z } from 'zod';
import { at, own } from '../problems.ts';
import { taskBase, taskList } from '../common-shapes.ts';
import { exact } from '../shape.ts';
import type { Kind } from './kind.ts';

export const forkKind: Kind = {
  schema: exact({
    ...taskBase,
    fork: exact({ branches: taskList.min(1, 'needs at least one branch'), compete: z.boolean().optional() }),
  }),
  check(task, pointer, locals, checker) {
    checker.tasks(own(task['fork'], 'branches'), at(pointer, 'fork', 'branches'), locals, { parallel: true });
  },
};
