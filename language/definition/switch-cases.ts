import { isRecord } from '../../contracts/is-record.ts';
import { at } from './problems.ts';

interface FoundCase {
  caseName: string;
  definition: Record<string, unknown>;
  place: string;
}

/** The well-formed cases of a switch task, with their pointers. */
export function switchCases(task: Record<string, unknown>, pointer: string): FoundCase[] {
  const cases: unknown = task['switch'];
  if (!Array.isArray(cases)) return [];
  return cases.flatMap((entry: unknown, index) => {
    const [caseName, definition] = isRecord(entry) ? (Object.entries(entry)[0] ?? []) : [];
    if (caseName === undefined || !isRecord(definition)) return [];
    return [{ caseName, definition, place: at(pointer, 'switch', index, caseName) }];
  });
}
