import { z } from 'zod';
import { at, isObject, quote } from '../problems.ts';
import { name, taskBase } from '../common-shapes.ts';
import { exact } from '../shape.ts';
import { inTask, type Kind } from './kind.ts';

// oxlint-disable-next-line unicorn/no-thenable -- the DSL's own property
const switchCase = exact({ when: name.optional(), then: name });

const item = z
  .record(z.string(), switchCase)
  .refine((value) => Object.keys(value).length === 1, 'has to be an object with exactly one property: the name of the case');

/** The targets of `then` are checked with the list that the task stands in (flow.ts). */
export const switchKind: Kind = {
  schema: exact({ ...taskBase, switch: z.array(item).min(1, 'needs at least one case') }),
  check(task, pointer, locals, checker) {
    const names = new Set<string>();
    let fallback: string | undefined;
    for (const { caseName, definition, place } of switchCases(task, pointer)) {
      if (names.has(caseName)) checker.problems.error(place, 'duplicate_name', `there are two cases ${quote(caseName)}`);
      names.add(caseName);
      if (Object.hasOwn(definition, 'when')) {
        checker.expression(definition['when'], at(place, 'when'), inTask(locals));
      } else if (fallback === undefined) {
        fallback = caseName;
      } else {
        checker.problems.error(place, 'second_default', `${quote(fallback)} is the default case already: ${quote(caseName)} needs a "when"`);
      }
    }
  },
};

export interface FoundCase {
  caseName: string;
  definition: Record<string, unknown>;
  place: string;
}

/** The cases of a switch task that have the right shape, with their pointers. */
export function switchCases(task: Record<string, unknown>, pointer: string): FoundCase[] {
  const cases: unknown = task['switch'];
  if (!Array.isArray(cases)) return [];
  return cases.flatMap((entry: unknown, index) => {
    const [caseName, definition] = isObject(entry) ? (Object.entries(entry)[0] ?? []) : [];
    if (caseName === undefined || !isObject(definition)) return [];
    return [{ caseName, definition, place: at(pointer, 'switch', index, caseName) }];
  });
}
