export type Severity = 'error' | 'unsupported' | 'warning';

/** `pointer` is the RFC 6901 pointer of the place in the definition; `code` a stable word. */
export interface Problem {
  pointer: string;
  code: string;
  message: string;
  severity: Severity;
}

/** Of each severity: more help nobody, and a hostile definition could have a million. */
export const MAX_PROBLEMS = 100;

/**
 * Collects problems in the order in which they are found; the same one is kept once. Too many errors end the check;
 * of too many others the first are kept, for they do not make a definition invalid.
 */
export class Problems {
  readonly list: Problem[] = [];
  readonly #seen = new Set<string>();
  readonly #counts: Record<Severity, number> = { error: 0, unsupported: 0, warning: 0 };

  /** No more errors are kept: looking for more, and for suggestions, would be time wasted. */
  get full(): boolean {
    return this.#counts.error > MAX_PROBLEMS;
  }

  /** The same for warnings, which never end the check. */
  get warned(): boolean {
    return this.#counts.warning >= MAX_PROBLEMS;
  }

  error(pointer: string, code: string, message: string): void {
    this.#add({ pointer, code, message, severity: 'error' });
  }

  unsupported(pointer: string, code: string, message: string): void {
    this.#add({ pointer, code, message, severity: 'unsupported' });
  }

  warning(pointer: string, code: string, message: string): void {
    this.#add({ pointer, code, message, severity: 'warning' });
  }

  #add(problem: Problem): void {
    const { severity } = problem;
    if (this.#counts[severity] > MAX_PROBLEMS) return;
    const key = `${problem.pointer} ${problem.code} ${problem.message}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#counts[severity]++;
    if (this.#counts[severity] <= MAX_PROBLEMS) {
      this.list.push(problem);
    } else if (severity === 'error') {
      this.list.push({ pointer: '', code: 'too_many_problems', message: `more than ${MAX_PROBLEMS} errors: the others are not shown`, severity });
    }
  }
}

/** Appends reference tokens to a JSON Pointer, escaped by RFC 6901. */
export function at(pointer: string, ...tokens: readonly PropertyKey[]): string {
  let result = pointer;
  for (const token of tokens) result += `/${String(token).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return result;
}

/** A text of the author's shortened for a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own property; never one of the prototype, whatever the name. */
export function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
