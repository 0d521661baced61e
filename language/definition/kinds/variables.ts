import type { Checker } from '../checker.ts';
import { at, quote } from '../problems.ts';
import { DSL_VARIABLES } from '../scope.ts';

export interface Declaration {
  key: string;
  value: unknown;
  fallback: string;
}

/** Adds the variables that a loop or catch declares to the scope, and checks their names. */
export function declareVariables(
  checker: Checker,
  pointer: string,
  locals: readonly string[],
  declarations: readonly Declaration[],
): readonly string[] {
  const declared: string[] = [];
  for (const { key, value, fallback } of declarations) {
    const variable = typeof value === 'string' && value !== '' ? value : fallback;
    const place = at(pointer, key);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable)) {
      checker.problems.error(
        place,
        'variable_name',
        `${quote(variable)} is not a valid variable name: use letters, digits and _, without $`,
      );
    } else if (
      DSL_VARIABLES.some((known) => known === variable) ||
      variable === '__loc__' ||
      variable === 'ENV'
    ) {
      checker.problems.error(place, 'reserved_name', `$${variable} is reserved: choose another name`);
    } else if (declared.includes(variable)) {
      checker.problems.error(place, 'duplicate_name', `$${variable} is declared twice`);
    }
    // A name declared with `$` is used without it. Declaring both forms reports one mistake instead of two.
    declared.push(variable.replace(/^\$/, ''));
  }
  return [...locals.filter((name) => !declared.includes(name)), ...declared];
}
