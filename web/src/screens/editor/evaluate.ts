/** Evaluates an expression on data, as a run would. */
import { shortened } from '../../../../contracts/cut-text.ts';
import { compile, ExpressionError, template } from '../../../../language/expressions/index.ts';
import { words } from './words.ts';

/** More outputs and longer ones are cut. */
const MAX_SHOWN = 100_000;

/** @param input JSON. The variables of a run are not there but `$input`. */
export function evaluate(expression: string, input: string): { output: string } | { problem: string } {
  let data: unknown;
  try {
    data = JSON.parse(input);
  } catch {
    return { problem: words.try.notJson };
  }
  try {
    const program = expression.includes('${')
      ? template(expression, { mode: 'strict' })
      : compile(expression, { variables: ['input'] });
    const outputs = program.all(data, { variables: { input: data }, clock: () => new Date() });
    const text = outputs.map((output) => JSON.stringify(output, null, 2)).join('\n');
    return { output: shortened(text, MAX_SHOWN) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { problem: error.message };
  }
}
