import type * as z from 'zod';

import { agentLimitsSchema, type AgentLimits, type agentLimitsPatch } from '../contracts/agent-limits.ts';
import { budgetSchema, type Budget, type budgetPatch } from '../contracts/budgets.ts';
import { issueText } from '../contracts/issue-texts.ts';
import type { Quotas, teamQuotas, userQuotas } from '../contracts/quotas.ts';
import { invalid, jsonPointer } from '../domain/errors.ts';
import { mergePatch } from './conditional.ts';

/** A budget after a merge patch; null removes it. @throws 422 if nothing is left to limit */
export function mergedBudget(
  current: Budget | null | undefined,
  patch: z.output<typeof budgetPatch> | null,
): Budget | null {
  return merged(budgetSchema, 'budget', current, patch);
}

/** The limits of an agent after a merge patch; null removes them. @throws 422 if a part misses something */
export function mergedLimits(
  current: AgentLimits | null | undefined,
  patch: z.output<typeof agentLimitsPatch> | null,
): AgentLimits | null {
  return merged(agentLimitsSchema, 'limits', current, patch);
}

/** Quotas after a merge patch; null, and what is left without any, are the settings. */
export function mergedQuotas(
  schema: typeof userQuotas | typeof teamQuotas,
  current: Quotas | null | undefined,
  patch: Quotas | null,
): Quotas | null {
  const quotas = merged<z.ZodType<Quotas>>(schema, 'quotas', current, patch);
  return quotas === null || Object.keys(quotas).length === 0 ? null : quotas;
}

function merged<Schema extends z.ZodType>(
  schema: Schema,
  name: string,
  current: unknown,
  patch: unknown,
): z.output<Schema> | null {
  if (patch === null) return null;
  const result = schema.safeParse(mergePatch(current, patch), { error: issueText });
  if (result.success) return result.data;
  throw invalid(
    result.error.issues.map(({ path, code, message }) => ({
      pointer: jsonPointer([name, ...path]),
      code,
      message,
    })),
  );
}
