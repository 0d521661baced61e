import { z } from 'zod';
import { isRecord } from '../../../contracts/is-record.ts';
import { at, own, quote } from '../problems.ts';
import { emittedEvent, taskBase } from '../common-shapes.ts';
import { exact } from '../shape.ts';
import { inTask, type Kind } from './kind.ts';

export const emitKind: Kind = {
  schema: exact({ ...taskBase, emit: exact({ event: z.looseObject({ with: emittedEvent }) }) }),
  check(task, pointer, locals, checker) {
    const event = own(own(task['emit'], 'event'), 'with');
    const place = at(pointer, 'emit', 'event', 'with');
    // Emitted data is stored in the run's log and published.
    checker.template(event, place, inTask(locals, 'refuse'));
    for (const [name, value] of isRecord(event) ? Object.entries(event) : []) {
      if (!/^[a-z0-9]+$/.test(name)) {
        checker.problems.error(
          at(place, name),
          'not_allowed',
          `${quote(name)}: attributes of CloudEvents have names of lower-case letters and digits only`,
        );
      } else if (name === 'specversion' && value !== '1.0') {
        checker.problems.error(
          at(place, name),
          'not_allowed',
          'events are emitted in version 1.0 of CloudEvents',
        );
      }
    }
  },
};
