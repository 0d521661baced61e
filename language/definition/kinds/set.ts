import { z } from 'zod';
import { at } from '../problems.ts';
import { name, taskBase } from '../common-shapes.ts';
import { byType, exact } from '../shape.ts';
import { inTask, type Kind } from './kind.ts';

const data = z
  .record(z.string(), z.unknown())
  .refine((value) => Object.keys(value).length > 0, 'needs at least one property');

export const setKind: Kind = {
  schema: exact({ ...taskBase, set: byType({ object: data, string: name }) }),
  check(task, pointer, locals, checker) {
    checker.transformation(task['set'], at(pointer, 'set'), inTask(locals, 'refuse'));
  },
};
