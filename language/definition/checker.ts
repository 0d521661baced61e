import { analyzeExpression, analyzeText, type Analysis } from './jq.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { ProcessKind } from '../../contracts/process-policy.ts';
import { at, own, quote, type Problems } from './problems.ts';
import { functionPlace, type Resource, type ResourceReference } from './resources.ts';
import { Steps } from './steps.ts';
import { DSL_VARIABLES, isAvailable, SITE_NAMES, type Place } from './scope.ts';
import { didYouMean } from '../../contracts/suggest.ts';

/** Longer texts are not expressions in loose mode. */
const MAX_LOOSE = 2_000;

/**
 * References of a definition to things outside it. Literal names only: expressions are resolved at run time.
 */
export interface References {
  agents: { pointer: string; agent: string; version?: string }[];
  workflows: { pointer: string; namespace: string; name: string; version: string }[];
  secrets: { pointer: string; name: string }[];
  /** Scripts and containers, with their expressions. The installation decides what may run. */
  processes: { pointer: string; kind: ProcessKind; configured: Record<string, unknown> }[];
  /** Functions and schemas to fetch, each once; without those that have been given. */
  resources: ResourceReference[];
}

/** How a definition is checked, beyond its text. */
export interface CheckerOptions {
  definition: unknown;
  /** The resources that have been fetched for it. */
  resources: readonly Resource[];
  /** Whether nothing is fetched, which a warning says. */
  offline: boolean;
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
  readonly references: References = { agents: [], workflows: [], secrets: [], processes: [], resources: [] };
  /** Values that the definition gets before it runs, by their pointers. */
  readonly rewrites = new Map<string, unknown>();
  /** Variable names of caught errors. Reusable retry policies may read any of them. */
  readonly catchNames = new Set<string>(['error']);
  readonly problems: Problems;
  readonly use: UseNames;
  readonly #checkTasks: CheckTasks;
  readonly #options: CheckerOptions;
  /** Whether texts of data are tried as expressions. */
  readonly #isLoose: boolean;
  /** Where fetched functions are, by pointer. */
  readonly #fetched: readonly string[];
  #steps: Steps | undefined;

  constructor(problems: Problems, use: UseNames, checkTasks: CheckTasks, options: CheckerOptions) {
    this.problems = problems;
    this.use = use;
    this.#checkTasks = checkTasks;
    this.#options = options;
    this.#isLoose = own(own(options.definition, 'evaluate'), 'mode') === 'loose';
    this.#fetched = options.resources.flatMap(({ kind, name }) =>
      kind === 'function' ? [`${functionPlace(name)}/`] : [],
    );
  }

  get definition(): unknown {
    return this.#options.definition;
  }

  get steps(): Steps {
    return (this.#steps ??= new Steps(this.#options.definition));
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
      else if (this.#isLoose) this.#tryAsExpression(value, pointer, place);
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

  /**
   * In loose mode a text is an expression if it compiles; if its evaluation fails, it is a text after all
   * (dsl-reference.md "Evaluate").
   */
  #tryAsExpression(text: string, pointer: string, place: Place): void {
    if (text.trim() === '' || text.length > MAX_LOOSE) return;
    const analysis = analyzeExpression(text);
    if (analysis.problems.length > 0) return;
    if (!analysis.variables.every((variable) => isAvailable(variable, place))) return;
    const strict = `\${ try (\n${text}\n) catch ${JSON.stringify(text)} }`;
    if (analyzeText(strict).problems.length > 0) return;
    this.#report(analysis, pointer, place);
    this.rewrites.set(pointer, strict);
  }

  /** A function or schema that is fetched when the definition is saved; undefined if it is not there yet. */
  resource(reference: ResourceReference): Resource | undefined {
    const { kind, name, url, pointer } = reference;
    const found = this.#options.resources.find((given) => given.kind === kind && given.name === name);
    if (found !== undefined) return found;
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      this.problems.error(
        pointer,
        'resource_address',
        `${quote(url)} is no address with http:// or https://: what a definition takes from elsewhere is ` +
          'fetched when it is saved, so the address is written literally',
      );
      return undefined;
    }
    const { resources } = this.references;
    if (!resources.some((known) => known.kind === kind && known.name === name)) resources.push(reference);
    if (this.#options.offline)
      this.problems.warning(
        pointer,
        'resource_not_checked',
        `${quote(url)} is fetched and checked when the definition is saved`,
      );
    return undefined;
  }

  /** Whether a place is in a fetched function. */
  isFetched(pointer: string): boolean {
    return this.#fetched.some((place) => pointer.startsWith(place));
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
    if (this.refuseFetched(pointer, `the secret ${quote(name)}`)) return;
    this.name('secrets', name, pointer, 'declare it in use.secrets');
    this.references.secrets.push({ pointer, name });
  }

  /** A fetched function must not reach credentials: whoever can change its source would have them. */
  refuseFetched(pointer: string, what: string): boolean {
    if (!this.isFetched(pointer)) return false;
    this.problems.error(
      pointer,
      'secret_in_fetched_function',
      `a fetched function cannot read ${what}: copy it into use.functions if it needs that`,
    );
    return true;
  }

  /** Functions of the definition may use credentials; those that a fetched function calls are fetched too. */
  refuseOwnFunction(name: string, pointer: string): void {
    const isOwn = !this.#options.resources.some((given) => given.kind === 'function' && given.name === name);
    if (!isOwn || !this.isFetched(pointer)) return;
    this.problems.error(
      pointer,
      'own_function_in_fetched_function',
      `a fetched function cannot call ${quote(name)} of use.functions: ` +
        'copy it into use.functions if it needs that',
    );
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
    } else if (place.hidden?.includes(variable) && !place.locals.includes(variable)) {
      this.problems.error(
        pointer,
        'secret_exposed',
        `$${variable} holds what input.from took from $secrets, and would be kept in the run's data`,
      );
    } else if (
      (variable === 'secrets' || variable === 'authorization') &&
      place.secrets !== 'allow' &&
      !place.locals.includes(variable)
    ) {
      this.problems.error(
        pointer,
        'secret_exposed',
        `$${variable} would be kept in the run's data: use it in "with" of call: http, or in an ` +
          'authentication',
      );
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
