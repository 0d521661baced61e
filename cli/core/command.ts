/** One declaration a command: stricli makes the parser, the help, the completion and docs/cli.md of it. */
import { buildCommand, type Command, type CommandContext, type TypedCommandParameters } from '@stricli/core';

import type { Cli } from './cli.ts';
import type { ExitCode } from './errors.ts';
import {
  commonFlags,
  fieldsOf,
  flagName,
  refuseFlags,
  type CommonFlags,
  type Flags,
  type ValuesOf,
} from './flags.ts';
import type { RecordKind } from './records.ts';

/** What stricli hands to every command. */
export interface Context extends CommandContext {
  /**
   * Builds the command's surroundings, runs it, keeps its exit code. `typed`: flags and arguments that were
   * given, by the fields of the API that they set.
   */
  readonly start: (
    flags: CommonFlags,
    typed: ReadonlyMap<string, string>,
    body: (cli: Cli) => Promise<ExitCode | void>,
  ) => Promise<void>;
  /** Records that an argument may name, while the shell completes it. */
  readonly propose: (kind: RecordKind, partial: string) => Promise<readonly string[]>;
}

/** In `details` of what needs more than a session. */
export const FRESH_LOG_IN = 'Needs a log-in at most five minutes ago, or cadenza session verify.';

interface Argument<Optional extends boolean = boolean> {
  placeholder: string;
  brief: string;
  optional: Optional;
  /** The records that it names. */
  records?: RecordKind | undefined;
  /** Fields of the API that it sets. */
  fields?: readonly string[];
}
export const argument = (placeholder: string, brief: string, records?: RecordKind): Argument<false> => ({
  placeholder,
  brief,
  optional: false,
  records,
});
export const optional = (placeholder: string, brief: string): Argument<true> => ({
  placeholder,
  brief,
  optional: true,
});

type ArgumentValues<A extends readonly Argument[]> = {
  [K in keyof A]: A[K] extends Argument<true> ? string | undefined : string;
};

interface Declaration<F extends Flags, A extends readonly Argument[]> {
  brief: string;
  /** Paragraphs after the brief. */
  details?: string;
  flags?: F;
  /** One letter for a flag. */
  letters?: Readonly<Record<string, keyof F & string>>;
  arguments?: A;
  /** False for a command that prints words or text only, to which a filter of JSON does nothing. */
  hasData?: boolean;
  /** True for a command that prints its data one by one, as they come. */
  isStream?: boolean;
  /** The flag with which the command prints text only. */
  textWith?: keyof F & string;
  run: (cli: Cli, flags: ValuesOf<F>, ...values: ArgumentValues<A>) => Promise<ExitCode | void>;
}

export function command<
  const F extends Flags = Record<never, never>,
  const A extends readonly Argument[] = [],
>(declaration: Declaration<F, A>): Command<Context> {
  const { arguments: given = [], run } = declaration;
  const parameters = given.map(({ optional: isOptional, ...shown }) => ({
    ...parameterOf(shown),
    ...(isOptional ? { optional: true as const } : {}),
  }));
  return build(declaration, { kind: 'tuple' as const, parameters }, (cli, flags, values) =>
    // stricli has parsed them by this declaration.
    run(cli, flags as ValuesOf<F>, ...(values as ArgumentValues<A>)),
  );
}

const parameterOf = ({ placeholder, brief, records, fields = [] }: Omit<Argument, 'optional'>) => ({
  placeholder,
  brief,
  fields,
  parse: String,
  ...(records === undefined
    ? {}
    : {
        proposeCompletions(this: Context, partial: string) {
          return this.propose(records, partial);
        },
      }),
});

interface ManyDeclaration<F extends Flags> extends Omit<Declaration<F, []>, 'arguments' | 'run'> {
  /** The argument that may be repeated. */
  many: Omit<Argument, 'optional'> & { minimum?: number };
  run: (cli: Cli, flags: ValuesOf<F>, values: readonly string[]) => Promise<ExitCode | void>;
}

/** A command that takes any number of the same argument. */
export function commandOfMany<const F extends Flags = Record<never, never>>(
  declaration: ManyDeclaration<F>,
): Command<Context> {
  const { many, run } = declaration;
  const positional = { kind: 'array' as const, parameter: parameterOf(many), minimum: many.minimum ?? 0 };
  return build(declaration, positional, (cli, flags, values) =>
    // stricli has parsed them by this declaration.
    run(cli, flags as ValuesOf<F>, values as string[]),
  );
}

interface Placed {
  placeholder: string;
  optional?: boolean;
  fields: readonly string[];
}
type Positional =
  { kind: 'tuple'; parameters: readonly Placed[] } | { kind: 'array'; parameter: Placed; minimum: number };

/** Every argument. stricli's usage lines leave out those that may be absent. */
function argumentsOf(positional: Positional): string[] {
  const shown = ({ placeholder, optional: isOptional = false }: Placed): string =>
    isOptional ? `[${placeholder}]` : `<${placeholder}>`;
  if (positional.kind === 'tuple') return positional.parameters.map(shown);
  return [`${shown({ ...positional.parameter, optional: positional.minimum === 0 })}...`];
}

/** What was typed, by the fields of the API that it sets: a field that comes from a file has no flag. */
function typedOf(all: Flags, positional: Positional, given: object): ReadonlyMap<string, string> {
  const placed = positional.kind === 'tuple' ? positional.parameters : [positional.parameter];
  const typed = Object.entries(all).filter(([name]) => Reflect.get(given, name) !== undefined);
  return new Map([
    ...typed.flatMap(([name, one]) => fieldsOf(name, one).map((field) => [field, flagName(name)] as const)),
    ...placed.flatMap(({ placeholder, fields }) => fields.map((field) => [field, placeholder] as const)),
  ]);
}

const STREAM_DETAILS =
  'Each entry is printed by itself, as a line of JSON unless on a terminal. --jq is applied to each entry, ' +
  'not to a list of all: --jq .message';

function build(
  {
    brief,
    details,
    flags,
    letters,
    hasData = true,
    isStream = false,
    textWith,
  }: Omit<Declaration<Flags, []>, 'run' | 'arguments'>,
  positional: Positional,
  run: (cli: Cli, flags: unknown, values: unknown[]) => Promise<ExitCode | void>,
): Command<Context> {
  const paragraphs = [...(details === undefined ? [] : [details]), ...(isStream ? [STREAM_DETAILS] : [])];
  const usage = argumentsOf(positional);
  const customUsage = usage.length === 0 ? {} : { customUsage: [usage.join(' ')] };
  const withFlags = (all: Flags): Command<Context> => {
    const parameters = { flags: all, aliases: { ...letters, o: 'output', q: 'quiet' }, positional };
    return buildCommand<CommonFlags, unknown[], Context>({
      docs: {
        brief,
        ...(paragraphs.length === 0 ? {} : { fullDescription: [`${brief}.`, ...paragraphs].join('\n\n') }),
        ...customUsage,
      },
      // The declarations above are stricli's own form; its types cannot follow flags that are merged.
      parameters: parameters as unknown as TypedCommandParameters<CommonFlags, unknown[], Context>,
      async func(given, ...values) {
        await this.start(given, typedOf(flags ?? {}, positional, given), (cli) => {
          if (!hasData) refuseFlags(given, ['jq'], 'on this command: it prints no JSON');
          if (textWith !== undefined && Reflect.get(given, textWith) === true)
            refuseFlags(given, ['jq'], `together with ${flagName(textWith)}: it prints no JSON`);
          return run(cli, withoutCommon(given), values);
        });
      },
    });
  };
  const all: Flags = { ...flags, ...commonFlags };
  return {
    ...withFlags(all),
    formatUsageLine: ({ prefix }) => [...prefix, ...usage].join(' '),
    // stricli's help does not show what value a flag takes.
    formatHelp: (args) => withFlags(withValues(all)).formatHelp(args),
  };
}

/** A command gets its own flags only, because some send all that they get to the server. */
const withoutCommon = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(commonFlags, name)));

const withValues = (flags: Flags): Flags =>
  Object.fromEntries(
    Object.entries(flags).map(([name, { brief, placeholder, ...flag }]) => [
      name,
      {
        ...flag,
        ...(placeholder === undefined ? {} : { placeholder }),
        brief: placeholder === undefined ? brief : `${brief} [${placeholder}]`,
      },
    ]),
  );
