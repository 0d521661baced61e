import type { z } from 'zod';
import type { Checker } from '../checker.ts';
import type { Place, SecretPolicy } from '../scope.ts';

/** A kind of task: its shape, and checks beyond the shape. */
export interface Kind {
  schema: z.ZodType;
  /**
   * Checks parts that have the right type and skips the rest, because problems of the shape are already
   * reported.
   */
  check(task: Record<string, unknown>, pointer: string, locals: readonly string[], checker: Checker): void;
}

/** The parameters of one function that `call` names: their shape, and what is checked beyond it. */
export interface Call {
  arguments: z.ZodType;
  check(
    parameters: Record<string, unknown>,
    pointer: string,
    locals: readonly string[],
    checker: Checker,
  ): void;
}

/** A place inside a task's definition. */
export function inTask(locals: readonly string[], secrets: SecretPolicy = 'refuse'): Place {
  return { site: 'definition', locals, secrets };
}
