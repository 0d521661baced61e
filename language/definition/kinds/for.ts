import { at, own } from '../problems.ts';
import { anything, name, taskBase, taskList } from '../common-shapes.ts';
import { byType, exact } from '../shape.ts';
import { inTask, type Kind } from './kind.ts';
import { declareVariables } from './variables.ts';

export const forKind: Kind = {
  schema: exact({
    ...taskBase,
    for: exact({ each: name.optional(), in: byType({ string: name, array: anything }), at: name.optional() }),
    while: name.optional(),
    do: taskList,
  }),
  check(task, pointer, locals, checker) {
    const loop = task['for'];
    const source = own(loop, 'in');
    if (typeof source === 'string') checker.expression(source, at(pointer, 'for', 'in'), inTask(locals));
    else checker.template(source, at(pointer, 'for', 'in'), inTask(locals));
    const inner = declareVariables(checker, at(pointer, 'for'), locals, [
      { key: 'each', value: own(loop, 'each'), fallback: 'item' },
      { key: 'at', value: own(loop, 'at'), fallback: 'index' },
    ]);
    checker.expression(task['while'], at(pointer, 'while'), inTask(inner));
    checker.tasks(task['do'], at(pointer, 'do'), inner);
  },
};
