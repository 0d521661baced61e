import { z } from 'zod';
import { at, quote } from '../problems.ts';
import { name, taskBase } from '../common-shapes.ts';
import { exact } from '../shape.ts';
import { switchCases } from '../switch-cases.ts';
import { inTask, type Kind } from './kind.ts';

// oxlint-disable-next-line unicorn/no-thenable -- the DSL's own property
const switchCase = exact({ when: name.optional(), then: name });

const item = z
  .record(z.string(), switchCase)
  .refine(
    (value) => Object.keys(value).length === 1,
    'must be an object with exactly one property: the name of the case',
  );

/** flow.ts checks the targets of `then`, together with the list that contains the task. */
export const switchKind: Kind = {
  schema: exact({ ...taskBase, switch: z.array(item).min(1, 'needs at least one case') }),
  check(task, pointer, locals, checker) {
    const names = new Set<string>();
    let fallback: string | undefined;
    for (const { caseName, definition, place } of switchCases(task, pointer)) {
      if (names.has(caseName))
        checker.problems.error(place, 'duplicate_name', `there are two cases ${quote(caseName)}`);
      names.add(caseName);
      if (Object.hasOwn(definition, 'when')) {
        checker.expression(definition['when'], at(place, 'when'), inTask(locals));
      } else if (fallback === undefined) {
        fallback = caseName;
      } else {
        checker.problems.error(
          place,
          'second_default',
          `${quote(fallback)} is the default case already: ${quote(caseName)} needs a "when"`,
        );
      }
    }
  },
};
