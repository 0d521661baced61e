/** Our jq. */
import { argument, command, optional } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { flag, texts } from '../core/flags.ts';
import { parseDocument, readText } from '../core/input.ts';
import { evaluate } from '../core/output.ts';
import { printable, safeJson } from '../core/text.ts';

export const exprCommand = command({
  brief: 'Evaluate a jq expression with the engine that runs use',
  details: 'Prints each result as a line of JSON. Input is JSON or YAML.',
  flags: {
    raw: flag('Print texts without quotes'),
    nullInput: flag('Use null as input, and read nothing'),
    arg: texts('Variable for the expression: $name is the text', 'NAME=TEXT'),
  },
  letters: { r: 'raw', n: 'nullInput' },
  arguments: [
    argument('EXPRESSION', 'Such as .items[].name'),
    optional('FILE', 'Input. Default: standard input'),
  ],
  run: async (cli, { raw, nullInput, arg = [] }, expression, given) => {
    if (nullInput === true && given !== undefined)
      throw usageError(`${given} is not read with --null-input.`);
    const file = given ?? '-';
    const input = nullInput ? null : await parseDocument(await readText(cli, file), file);
    const variables = Object.fromEntries(
      arg.map((pair) => {
        const at = pair.indexOf('=');
        if (at < 1) throw usageError(`--arg ${pair} is not NAME=TEXT.`);
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
    );
    for (const result of await evaluate(expression, input, variables))
      cli.out.raw(`${raw && typeof result === 'string' ? printable(result) : safeJson(result)}\n`);
  },
});
