/** Checks a text by the server's own validator, and finds the place of each problem. */
import { validateDefinition, type Problem } from '../../../../language/definition/validate.ts';
import type { Checked, Marked } from './checks.ts';
import { placeOf, taskPlaces, type Places, type ReadText } from './places.ts';

/** @param known problems that only the server can find, such as an agent that does not exist */
export function checkText(
  { value, places, problems }: ReadText,
  name: string,
  known: readonly Problem[],
): Omit<Checked, 'tookMs'> {
  const unread = problems.map((problem): Marked => ({
    ...problem,
    pointer: '',
    severity: value === undefined ? 'error' : 'warning',
  }));
  if (value === undefined)
    return { inputSchema: null, valid: false, problems: unread, tasks: taskPlaces(places) };
  const validation = validateDefinition(value, { name });
  const local = [...validation.problems];
  const others = known.filter(
    ({ pointer, code }) => !local.some((own) => own.pointer === pointer && own.code === code),
  );
  const found = [...local, ...others].map((problem) => marked(problem, places));
  return {
    ...(isObject(value) ? { definition: value } : {}),
    inputSchema: validation.input_schema,
    valid: validation.valid,
    problems: [...unread, ...found].toSorted((left, right) => left.from - right.from),
    tasks: taskPlaces(places),
  };
}

function marked({ pointer, message, severity }: Problem, places: Places): Marked {
  const { from, to } = placeOf(places, pointer) ?? { from: 0, to: 0 };
  return { pointer, message, severity, from, to };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
