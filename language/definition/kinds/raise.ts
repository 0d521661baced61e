import { isRecord } from '../../../contracts/is-record.ts';
import { at, own } from '../problems.ts';
import { errorDefinition, name, taskBase } from '../common-shapes.ts';
import { checkError } from '../reusable.ts';
import { byType, exact } from '../shape.ts';
import type { Kind } from './kind.ts';

export const raiseKind: Kind = {
  schema: exact({ ...taskBase, raise: exact({ error: byType({ string: name, object: errorDefinition }) }) }),
  check(task, pointer, locals, checker) {
    const error = own(task['raise'], 'error');
    const place = at(pointer, 'raise', 'error');
    if (typeof error === 'string') checker.name('errors', error, place);
    else if (isRecord(error)) checkError(error, place, locals, checker);
  },
};
