/** Context shared by the parts of the compiler while they compile one program. */
import { compileError } from '../errors.ts';
import type { Node } from '../ast.ts';
import type { Code } from './code.ts';
import type { Scope } from './scope.ts';

export interface Context {
  source: string;
  /** Names of variables that `env.variables` may give, or null when any name may. */
  variables: ReadonlySet<string> | null;
  compile(node: Node, scope: Scope): Code;
}

export function failCompile(
  context: Context,
  at: number,
  message: string,
  code: string,
  suggestion?: string,
): never {
  throw compileError(context.source, at, message, suggestion === undefined ? { code } : { code, suggestion });
}
