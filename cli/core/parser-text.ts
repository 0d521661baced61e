/** What is wrong with a command line, in the form of all other errors. */
import {
  ArgumentScannerError,
  formatMessageForArgumentScannerError,
  text_en as standard,
  type ApplicationText,
} from '@stricli/core';

import { closest } from '../../contracts/suggest.ts';

/** stricli sets commands in backticks. */
const orList = (words: readonly string[], mark = ''): string =>
  words.map((word) => `${mark}${word.replaceAll('`', '')}`).join(' or ');

/** stricli also proposes names that have little in common with the given one. */
function suggestion(input: string, corrections: readonly string[], mark = ''): string {
  const near = corrections.filter((one) => closest(input, [one.replaceAll('`', '')]) !== undefined);
  return near.length === 0 ? '.' : `, did you mean ${orList(near, mark)}?`;
}

function scannerMessage(error: ArgumentScannerError): string {
  return formatMessageForArgumentScannerError(error, {
    FlagNotFoundError: ({ input, corrections, aliasName }) =>
      aliasName === undefined
        ? `There is no flag --${input}${suggestion(input, corrections, '--')}`
        : `There is no flag -${aliasName}.`,
    AliasNotFoundError: ({ input }) => `There is no flag -${input}.`,
    ArgumentParseError: ({ externalFlagNameOrPlaceholder: name, exception }) =>
      `--${name}: ${exception instanceof Error ? exception.message : String(exception)}.`,
    EnumValidationError: ({ externalFlagName: name, input, values }) =>
      `--${name}: ${input} is none of ${values.join(', ')}.`,
    UnsatisfiedFlagError: ({ externalFlagName: name }) => `--${name} needs a value.`,
    UnexpectedFlagError: ({ externalFlagName: name }) => `--${name} can be given only once.`,
    UnexpectedPositionalError: ({ input, expectedCount: count }) => {
      const taken = count === 0 ? 'no arguments' : count === 1 ? 'one argument' : `${count} arguments`;
      return `${input} is too much: the command takes ${taken}.`;
    },
    UnsatisfiedPositionalError: ({ placeholder, limit }) =>
      limit === undefined
        ? `${placeholder} is missing.`
        : `${placeholder} is missing: the command takes at least ${limit[0]} arguments.`,
  });
}

export const parserText: ApplicationText = {
  ...standard,
  noCommandRegisteredForInput: ({ input, corrections }) =>
    `There is no command ${input}${suggestion(input, corrections)}`,
  exceptionWhileParsingArguments(error, ansiColor) {
    return error instanceof ArgumentScannerError
      ? scannerMessage(error)
      : standard.exceptionWhileParsingArguments.call(this, error, ansiColor);
  },
};
