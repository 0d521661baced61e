import type * as z from 'zod';

import { budgetSchema, type Budget, type budgetPatch } from '../contracts/budgets.ts';
import { invalid, jsonPointer } from '../domain/errors.ts';
import { mergePatch } from './conditional.ts';

/** A budget after a merge patch; null removes it. @throws 422 if nothing is left to limit */
export function mergedBudget(
  current: Budget | null | undefined,
  patch: z.output<typeof budgetPatch> | null,
): Budget | null {
  if (patch === null) return null;
  const merged = budgetSchema.safeParse(mergePatch({ ...current }, { ...patch }));
  if (merged.success) return merged.data;
  throw invalid(
    merged.error.issues.map(({ path, code, message }) => ({
      pointer: jsonPointer(['budget', ...path]),
      code,
      message,
    })),
  );
}
