/** Literal headers of calls, which no request could have. */
import { headerProblems, headerValueProblem } from '../../contracts/header-rules.ts';
import type { Checker } from './checker.ts';
import { at } from './problems.ts';

/** Call it after `checker.template`, which decides whether a text of the loose mode is an expression. */
export function checkHeaders(headers: unknown, pointer: string, checker: Checker): void {
  for (const { key, message } of headerProblems(headers, (name) => checker.rewrites.has(at(pointer, name))))
    checker.problems.error(at(pointer, key), 'invalid_header', message);
}

/** A text that is sent as part of a header. */
export function checkHeaderValue(value: unknown, pointer: string, key: string, checker: Checker): void {
  const problem = headerValueProblem(value);
  if (problem !== null) checker.problems.error(at(pointer, key), 'invalid_header', `"${key}" ${problem}`);
}
