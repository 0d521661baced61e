import { z } from 'zod';
import { at, own } from '../problems.ts';
import { emittedEvent, taskBase } from '../common-shapes.ts';
import { exact } from '../shape.ts';
import { unsupported } from '../support.ts';
import { inTask, type Kind } from './kind.ts';

export const emitKind: Kind = {
  schema: exact({ ...taskBase, emit: exact({ event: z.looseObject({ with: emittedEvent }) }) }),
  check(task, pointer, locals, checker) {
    unsupported(checker, at(pointer, 'emit'), 'emit');
    checker.template(own(own(task['emit'], 'event'), 'with'), at(pointer, 'emit', 'event', 'with'), inTask(locals));
  },
};
