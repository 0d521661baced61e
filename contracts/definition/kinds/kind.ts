import type { z } from 'zod';
import type { Checker } from '../checker.ts';
import type { Place, SecretPolicy } from '../scope.ts';

/** One kind of task: its shape, and what is checked in it beyond the shape. */
export interface Kind {
  schema: z.ZodType;
  /** Reads what has the right type and skips the rest: the shape's problems are told already. */
  check(task: Record<string, unknown>, pointer: string, locals: readonly string[], checker: Checker): void;
}

/** A place inside a task's own definition. */
export function inTask(locals: readonly string[], secrets: SecretPolicy = 'unsupported'): Place {
  return { site: 'definition', locals, secrets };
}
