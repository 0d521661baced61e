/** Flags and arguments of commands, with the types that they give. */
import { usageError } from './errors.ts';
import { FORMATS } from './output.ts';

declare const valueType: unique symbol;
/** One of stricli's flags; the type of its value is only for the compiler. */
export interface Flag<T> {
  readonly kind: 'boolean' | 'parsed' | 'enum';
  readonly brief: string;
  readonly optional: true;
  /** The value that it takes, such as `NAME`. */
  readonly placeholder?: string;
  /** Fields of the API that it sets, where `fieldsOf` would not find them. */
  readonly fields?: readonly string[];
  readonly [valueType]?: T;
}
export type Flags = Readonly<Record<string, Flag<unknown>>>;
export type ValuesOf<F extends Flags> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never };

export const flag = (brief: string): Flag<boolean | undefined> => ({
  kind: 'boolean',
  optional: true,
  brief,
  ...NO_NEGATION,
});
const NO_NEGATION = { withNegated: false };

export const text = (brief: string, placeholder: string): Flag<string | undefined> =>
  parsed(brief, placeholder, (input) => input);

/** Takes any text; the shell completes these words. */
export const proposedText = (
  brief: string,
  placeholder: string,
  words: readonly string[],
): Flag<string | undefined> => {
  const proposeCompletions = (partial: string) => words.filter((word) => word.startsWith(partial));
  return Object.assign(text(brief, placeholder), { proposeCompletions });
};

/** May be given several times. */
export const texts = (brief: string, placeholder: string): Flag<readonly string[] | undefined> =>
  parsed(brief, placeholder, (input) => input, true);

export const count = (brief: string, placeholder = 'N'): Flag<number | undefined> =>
  parsed(brief, placeholder, (input) => {
    if (!/^\d{1,9}$/.test(input)) throw usageError(`${input} is no whole number`);
    return Number(input);
  });

export const seconds = (brief: string, placeholder = 'TIME'): Flag<number | undefined> =>
  parsed(brief, placeholder, secondsIn);

export const choice = <const T extends string>(brief: string, values: readonly T[]): Flag<T | undefined> => {
  const parts = { kind: 'enum' as const, optional: true as const, brief, values };
  return parts;
};

function parsed<T>(
  brief: string,
  placeholder: string,
  parse: (input: string) => unknown,
  variadic = false,
): Flag<T> {
  const parts = { kind: 'parsed' as const, optional: true as const, brief, placeholder, parse };
  return variadic ? Object.assign(parts, { variadic }) : parts;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** `90`, `90s`, `5m`, `1h`, `2d`. @throws CliError */
export function secondsIn(input: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(input);
  if (match === null) throw usageError(`${input} is no time, such as 30s, 5m, 1h or 30d`);
  return Number(match[1]) * (SECONDS[match[2] || 's'] ?? 1);
}

/** A flag, or an argument, that sets these fields of the API, which refusals name. */
export const sets = <T extends object>(one: T, ...fields: string[]): T & { fields: readonly string[] } => ({
  ...one,
  fields,
});

/** Fields that a flag may set: `--team` sets `team_id`, `--role` `roles`, `--expires` `expires_at`. */
export function fieldsOf(name: string, { fields }: Pick<Flag<unknown>, 'fields'>): readonly string[] {
  if (fields !== undefined) return fields;
  const field = name.replace(/Stdin$/, '').replaceAll(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`);
  return [field, `${field}_id`, `${field}s`, `${field}_at`, `${field}_in`];
}

/** As it is typed: `--max-pages`. */
export const flagName = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (upper) => `-${upper.toLowerCase()}`)}`;

/** @throws CliError if one of these flags is given, which would have no effect `because` */
export function refuseFlags(
  given: Readonly<Record<string, unknown>>,
  names: readonly string[],
  because: string,
): void {
  const unused = names.filter((name) => given[name] !== undefined).map(flagName);
  if (unused.length > 0)
    throw usageError(`${unused.join(', ')} ${unused.length === 1 ? 'has' : 'have'} no effect ${because}.`);
}

/** Every command has them. */
export const commonFlags = {
  output: choice('Form of the data. Default: table on a terminal, else json', FORMATS),
  jq: text('Filter the data with a jq expression', 'EXPRESSION'),
  quiet: flag('Say nothing on stderr but errors'),
  noColor: flag('No colors (as NO_COLOR)'),
  profile: text('Use this profile (as CADENZA_PROFILE)', 'NAME'),
};
export type CommonFlags = ValuesOf<typeof commonFlags>;
