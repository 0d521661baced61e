import { analyzeExpression, analyzeText, type Analysis } from './jq.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { ProcessKind } from '../../contracts/process-policy.ts';
import { at, quote, type Problems } from './problems.ts';
import { Steps } from './steps.ts';
import { DSL_VARIABLES, isAvailable, SITE_NAMES, type Place } from './scope.ts';
import { didYouMean } from '../../contracts/suggest.ts';

/**
 * References of a definition to things outside it. Literal names only: expressions are resolved at run time.
 */
export interface References {
  agents: { pointer: string; agent: string; version?: string }[];
  workflows: { pointer: string; namespace: string; name: string; version: string }[];
  secrets: { pointer: string; name: string }[];
  /** Scripts and containers, with their expressions. The installation decides what may run. */
  processes: { pointer: string; kind: ProcessKind; configured: Record<string, unknown> }[];
}

/** The names of `use`, each list without duplicates. */
export interface UseNames {
  authentications: readonly string[];
  catalogs: readonly string[];
  errors: readonly string[];
  functions: readonly string[];
  retries: readonly string[];
  secrets: readonly string[];
  timeouts: readonly string[];
}

/** Checks a task list with everything below it. */
export type CheckTasks = (
  checker: Checker,
  list: unknown,
  pointer: string,
  locals: readonly string[],
  options?: { parallel?: boolean },
) => void;

/** Shared state of checking one definition: problems, references, and names that can be referred to. */
export class Checker {
  readonly references: References = { agents: [], workflows: [], secrets: [], processes: [] };
  /** Variable names of caught errors. Reusable retry policies may read any of them. */
  readonly catchNames = new Set<string>(['error']);
  readonly problems: Problems;
  readonly use: UseNames;
  readonly #checkTasks: CheckTasks;
  readonly #definition: unknown;
  #steps: Steps | undefined;

  constructor(problems: Problems, use: UseNames, checkTasks: CheckTasks, definition: unknown) {
    this.problems = problems;
    this.use = use;
    this.#checkTasks = checkTasks;
    this.#definition = definition;
  }

  get steps(): Steps {
    return (this.#steps ??= new Steps(this.#definition));
  }

  tasks(list: unknown, pointer: string, locals: readonly string[], options?: { parallel?: boolean }): void {
    this.#checkTasks(this, list, pointer, locals, options);
  }

  /** Checks an expression field: bare jq, or entirely `${ … }`. */
  expression(value: unknown, pointer: string, place: Place): void {
    if (typeof value !== 'string' || value === '' || this.problems.full) return;
    this.#report(value.includes('${') ? analyzeText(value) : analyzeExpression(value), pointer, place);
  }

  /**
   * Checks `from`, `as` or `set`: an expression field if it is text, else data whose texts may contain `${ …
   * }`.
   */
  transformation(value: unknown, pointer: string, place: Place): void {
    if (typeof value === 'string') this.expression(value, pointer, place);
    else this.template(value, pointer, place);
  }

  /** Checks data whose texts may contain `${ … }`, as a whole or embedded. */
  template(value: unknown, pointer: string, place: Place): void {
    if (this.problems.full) return;
    if (typeof value === 'string') {
      if (value.includes('${')) this.#report(analyzeText(value), pointer, place);
      else if (looksLikeExpression(value)) {
        this.problems.warning(
          pointer,
          'plain_text',
          `${quote(value)} is passed on as text: to evaluate it write ${quote(`\${ ${value.trim()} }`)}`,
        );
      }
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.template(item, at(pointer, index), place);
    } else if (isRecord(value)) {
      for (const [key, item] of Object.entries(value)) this.template(item, at(pointer, key), place);
    }
  }

  /**
   * Checks a text that may contain `${ … }`, without the warning about text that looks like jq (titles,
   * URIs).
   */
  text(value: unknown, pointer: string, place: Place): void {
    if (typeof value === 'string' && value.includes('${') && !this.problems.full)
      this.#report(analyzeText(value), pointer, place);
  }

  /** Checks a name of `use.<section>`. An unknown one is an error that suggests the nearest known name. */
  name(section: keyof UseNames, name: string, pointer: string, hint = ''): void {
    const known = this.use[section];
    if (known.includes(name) || this.problems.full) return;
    const singular = section.replace(/ies$/, 'y').replace(/s$/, '');
    const suggestion = didYouMean(name, known) || (hint === '' ? '' : `; ${hint}`);
    this.problems.error(pointer, `unknown_${singular}`, `use.${section} has no ${quote(name)}${suggestion}`);
  }

  secret(name: string, pointer: string): void {
    this.name('secrets', name, pointer, 'declare it in use.secrets');
    this.references.secrets.push({ pointer, name });
  }

  #report(analysis: Analysis, pointer: string, place: Place): void {
    for (const { message, line, column, suggestion } of analysis.problems) {
      const hint = suggestion === undefined ? '' : `, did you mean ${quote(suggestion)}?`;
      this.problems.error(pointer, 'expression', `line ${line}, column ${column}: ${message}${hint}`);
    }
    for (const variable of analysis.variables) this.#variable(variable, pointer, place);
    for (const name of analysis.secrets) this.secret(name, pointer);
    if (analysis.allSecrets && !place.locals.includes('secrets')) {
      this.problems.error(
        pointer,
        'secret_name',
        'name the secret that is read: $secrets.<name> or $secrets["<name>"]',
      );
    }
  }

  #variable(variable: string, pointer: string, place: Place): void {
    if (!isAvailable(variable, place)) {
      this.#unavailable(variable, pointer, place);
    } else if (
      variable === 'authorization' &&
      place.secrets === 'allow' &&
      !place.locals.includes(variable)
    ) {
      this.problems.unsupported(
        pointer,
        'unsupported_authorization',
        '$authorization is not supported yet: read the credential itself, as $secrets.<name>',
      );
    } else if (
      (variable === 'secrets' || variable === 'authorization') &&
      place.secrets !== 'allow' &&
      !place.locals.includes(variable)
    ) {
      if (place.secrets === 'refuse') {
        this.problems.error(
          pointer,
          'secret_exposed',
          `$${variable} would be kept in the run's data: use it in "with" of call: http, or in an ` +
            'authentication',
        );
      } else {
        this.problems.unsupported(
          pointer,
          'secret_here',
          `$${variable} is read in "with" of call: http and in authentications only: move it there`,
        );
      }
    }
  }

  #unavailable(variable: string, pointer: string, place: Place): void {
    if (DSL_VARIABLES.some((known) => known === variable)) {
      this.problems.error(
        pointer,
        'variable_not_available',
        `$${variable} does not exist in ${SITE_NAMES[place.site]}`,
      );
      return;
    }
    const known = [...place.locals, ...DSL_VARIABLES.filter((name) => isAvailable(name, place))];
    const suggestion = didYouMean(variable, known);
    const hint =
      suggestion === ''
        ? `; in scope: ${known.map((name) => `$${name}`).join(' ')}`
        : suggestion.replace('"', '"$');
    this.problems.error(pointer, 'undefined_variable', `$${variable} is not defined${hint}`);
  }
}

/** Whether a text is probably meant as an expression, such as `$error` or `.customer.name`. */
function looksLikeExpression(text: string): boolean {
  return (
    text.length <= 200 && /^\s*(?:\$[A-Za-z_]\w*|\.[A-Za-z_]\w*)(?:\.[A-Za-z_]\w*|\[\d*\])*\s*$/.test(text)
  );
}
