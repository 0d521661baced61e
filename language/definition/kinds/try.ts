import { z } from 'zod';
import { closest } from '../../../contracts/suggest.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { at, own, quote } from '../problems.ts';
import { name, retryPolicy, taskBase, taskList, text } from '../common-shapes.ts';
import { checkRetry } from '../reusable.ts';
import { byType, exact } from '../shape.ts';
import { inTask, type Kind } from './kind.ts';
import { declareVariables } from './variables.ts';

const filter = exact({
  type: text.optional(),
  status: z.int().optional(),
  instance: text.optional(),
  title: text.optional(),
  detail: text.optional(),
});

const clause = exact({
  errors: exact({ with: filter.optional() }).optional(),
  as: name.optional(),
  when: name.optional(),
  exceptWhen: name.optional(),
  retry: byType({ string: name, object: retryPolicy }).optional(),
  do: taskList.optional(),
  // oxlint-disable-next-line unicorn/no-thenable -- the DSL's own property
  then: name.optional(),
});

export const tryKind: Kind = {
  schema: exact({ ...taskBase, try: taskList, catch: clause }),
  check(task, pointer, locals, checker) {
    checker.tasks(task['try'], at(pointer, 'try'), locals);
    const caught = task['catch'];
    const place = at(pointer, 'catch');
    const inner = declareVariables(checker, place, locals, [
      { key: 'as', value: own(caught, 'as'), fallback: 'error' },
    ]);
    for (const variable of inner.slice(-1)) checker.catchNames.add(variable);
    const matched = own(own(caught, 'errors'), 'with');
    for (const key of ['type', 'instance', 'title', 'detail'])
      checker.text(own(matched, key), at(place, 'errors', 'with', key), inTask(locals));
    checkErrorType(own(matched, 'type'), at(place, 'errors', 'with', 'type'), checker.problems);
    checker.expression(own(caught, 'when'), at(place, 'when'), inTask(inner));
    checker.expression(own(caught, 'exceptWhen'), at(place, 'exceptWhen'), inTask(inner));
    const retry = own(caught, 'retry');
    if (typeof retry === 'string') checker.name('retries', retry, at(place, 'retry'));
    else if (isRecord(retry)) checkRetry(retry, at(place, 'retry'), inner, checker);
    checker.tasks(own(caught, 'do'), at(place, 'do'), inner);
  },
};

const STANDARD = [
  'configuration',
  'validation',
  'expression',
  'authentication',
  'authorization',
  'timeout',
  'communication',
  'runtime',
];

const STANDARD_TYPE = new RegExp(
  [
    String.raw`^https?:\/\/(?:open-workflow-specification\.org|serverlessworkflow\.io)`,
    String.raw`\/.*errors\/(?:types\/)?([^/]+)$`,
  ].join(''),
);

/** Warns about misspelt standard types, because such a filter would never match. */
function checkErrorType(
  type: unknown,
  pointer: string,
  problems: { warning(pointer: string, code: string, message: string): void },
): void {
  if (typeof type !== 'string') return;
  const word = STANDARD_TYPE.exec(type)?.[1];
  if (word === undefined || STANDARD.includes(word)) return;
  const suggestion = closest(word, STANDARD);
  if (suggestion !== undefined)
    problems.warning(
      pointer,
      'error_type',
      `${quote(word)} is not a standard error type, did you mean "${suggestion}"?`,
    );
}
