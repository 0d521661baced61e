/** `context` of `call: human`: which steps and values the people who are asked may see. */
import { z } from 'zod';
import { MAX_CONTEXT_ENTRIES, MAX_CONTEXT_LABEL } from '../../../contracts/hitl.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { didYouMean } from '../../../contracts/suggest.ts';
import type { Checker } from '../checker.ts';
import { anything, isExpression, name } from '../common-shapes.ts';
import { at, quote } from '../problems.ts';
import type { Place } from '../scope.ts';
import { byType } from '../shape.ts';

export const contextShape = z
  .array(byType({ string: name, object: z.record(z.string(), anything) }))
  .max(MAX_CONTEXT_ENTRIES, `may have at most ${MAX_CONTEXT_ENTRIES} entries`);

/** @param task pointer of the `human` task */
export function checkContext(
  context: unknown,
  pointer: string,
  task: string,
  place: Place,
  checker: Checker,
): void {
  if (!Array.isArray(context)) return;
  const labels = new Set<string>();
  const add = (label: string, where: string): void => {
    if (labels.has(label)) checker.problems.error(where, 'duplicate_name', `${quote(label)} is listed twice`);
    labels.add(label);
    if (labels.size === MAX_CONTEXT_ENTRIES + 1)
      checker.problems.error(pointer, 'too_many', `may show at most ${MAX_CONTEXT_ENTRIES} steps and values`);
  };
  for (const [index, entry] of context.entries()) {
    const where = at(pointer, index);
    if (typeof entry === 'string' && entry !== '') {
      checkStep(entry, where, task, checker);
      add(entry, where);
    } else if (isRecord(entry)) {
      for (const [label, value] of Object.entries(entry)) {
        const labelled = at(where, label);
        if (label === '' || label.length > MAX_CONTEXT_LABEL)
          checker.problems.error(
            labelled,
            'invalid_value',
            `the name of a value has 1 to ${MAX_CONTEXT_LABEL} characters`,
          );
        checker.template(value, labelled, place);
        add(label, labelled);
      }
    }
  }
}

function checkStep(name: string, where: string, task: string, checker: Checker): void {
  const { problems, steps } = checker;
  if (problems.full) return;
  if (isExpression(name)) {
    problems.error(
      where,
      'unknown_step',
      `a text here is the name of a task: to show a value write {"<name>": ${quote(name)}}`,
    );
    return;
  }
  const search = steps.find(name, task);
  if (search === null) {
    const suggestion = didYouMean(name, steps.names);
    problems.error(where, 'unknown_step', `there is no task ${quote(name)}${suggestion}`);
  } else if ('several' in search) {
    const [first] = search.several;
    problems.error(
      where,
      'ambiguous_step',
      `${search.several.length} tasks are called ${quote(name)}: write the pointer of one of them, such as ` +
        quote(first?.pointer ?? ''),
    );
  } else if (search.found.pointer === task || task.startsWith(`${search.found.pointer}/`)) {
    problems.error(
      where,
      'step_not_over',
      `${quote(name)} is ${search.found.pointer === task ? 'this task' : 'around this task'}, so it has no ` +
        'output yet',
    );
  }
}
