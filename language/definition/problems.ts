import { escapeToken } from '../../contracts/json-pointer.ts';
import { isRecord } from '../../contracts/is-record.ts';
export type Severity = 'error' | 'unsupported' | 'warning';

/** `pointer` is an RFC 6901 pointer into the definition; `code` is stable. */
export interface Problem {
  pointer: string;
  code: string;
  message: string;
  severity: Severity;
  /** Where it is in the text that was sent; both count from 1. */
  line?: number;
  column?: number;
}

/** Maximum per severity. More would not help, and a hostile definition could cause a million. */
export const MAX_PROBLEMS = 20;

/**
 * Collects problems in order, without duplicates. Too many errors end the check. Of other severities, only
 * the first ones are kept, since they do not make a definition invalid.
 */
export class Problems {
  readonly list: Problem[] = [];
  readonly #seen = new Set<string>();
  /** Places that the author has not written, with the place that stands for them. */
  readonly #folded: { prefix: string; pointer: string; name: string }[] = [];
  readonly #counts: Record<Severity, number> = { error: 0, unsupported: 0, warning: 0 };

  /** Whether the limit of errors is reached, so that looking for more is a waste of time. */
  get full(): boolean {
    return this.#counts.error > MAX_PROBLEMS;
  }

  /** Whether the limit of warnings is reached; warnings never end the check. */
  get warned(): boolean {
    return this.#counts.warning >= MAX_PROBLEMS;
  }

  error(pointer: string, code: string, message: string): void {
    this.add({ pointer, code, message, severity: 'error' });
  }

  unsupported(pointer: string, code: string, message: string): void {
    this.add({ pointer, code, message, severity: 'unsupported' });
  }

  warning(pointer: string, code: string, message: string): void {
    this.add({ pointer, code, message, severity: 'warning' });
  }

  /** Reports what is found below `prefix` at `pointer` instead, with the name of the resource. */
  fold(prefix: string, pointer: string, name: string): void {
    this.#folded.push({ prefix, pointer, name });
  }

  #unfolded(problem: Problem): Problem {
    const found = this.#folded.find(({ prefix }) => `${problem.pointer}/`.startsWith(`${prefix}/`));
    if (found === undefined) return problem;
    const rest = problem.pointer.slice(found.prefix.length);
    const where = rest === '' ? found.name : `${found.name} at ${rest}`;
    return { ...problem, pointer: found.pointer, message: `${where}: ${problem.message}` };
  }

  add(given: Problem): void {
    const problem = this.#unfolded(given);
    const { severity } = problem;
    if (this.#counts[severity] > MAX_PROBLEMS) return;
    const key = `${problem.pointer} ${problem.code} ${problem.message}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#counts[severity]++;
    if (this.#counts[severity] <= MAX_PROBLEMS) {
      this.list.push(problem);
    } else if (severity === 'error') {
      this.list.push({
        pointer: '',
        code: 'too_many_problems',
        message: `more than ${MAX_PROBLEMS} errors: the others are not shown`,
        severity,
      });
    }
  }
}

/** Applies the same limits to problems from several checks. */
export function firstProblems(found: readonly Problem[]): Problem[] {
  const problems = new Problems();
  for (const problem of found) problems.add(problem);
  return problems.list;
}

/** Appends reference tokens to a JSON Pointer, escaped by RFC 6901. */
export function at(pointer: string, ...tokens: readonly PropertyKey[]): string {
  let result = pointer;
  for (const token of tokens) result += `/${escapeToken(String(token))}`;
  return result;
}

/** Quotes and shortens a text of the author for a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text);
}

/** An own property of a value; never an inherited one, whatever its name. */
export function own(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
