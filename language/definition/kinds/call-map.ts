import { z } from 'zod';
import { MAX_MAP_CONCURRENCY } from '../call-function.ts';
import { anything, isExpression, name, taskList } from '../common-shapes.ts';
import { at } from '../problems.ts';
import { byType, exact } from '../shape.ts';
import { inTask, type Call } from './kind.ts';
import { declareVariables } from './variables.ts';

const OUT_OF_RANGE = `must be 1 to ${MAX_MAP_CONCURRENCY}`;

/** `call: map` (docs/interface.md#call-map). */
export const mapCall: Call = {
  arguments: exact({
    in: byType({ string: name, array: anything }),
    as: name.optional(),
    at: name.optional(),
    do: taskList.min(1, 'needs at least one task'),
    concurrency: byType({
      number: z.int().min(1, OUT_OF_RANGE).max(MAX_MAP_CONCURRENCY, OUT_OF_RANGE),
      string: name.refine(isExpression, 'must be a number or a ${ … }'),
    }).optional(),
    on_error: z.enum(['fail', 'collect']).optional(),
  }),
  check(parameters, pointer, locals, checker) {
    const { in: source } = parameters;
    if (typeof source === 'string') checker.expression(source, at(pointer, 'in'), inTask(locals));
    else checker.template(source, at(pointer, 'in'), inTask(locals));
    checker.text(parameters['concurrency'], at(pointer, 'concurrency'), inTask(locals));
    const inner = declareVariables(checker, pointer, locals, [
      { key: 'as', value: parameters['as'], fallback: 'item' },
      { key: 'at', value: parameters['at'], fallback: 'index' },
    ]);
    checker.tasks(parameters['do'], at(pointer, 'do'), inner);
  },
};
