/** What an apply does or would do, and whether the caller has seen it. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../contracts/canonical-json.ts';
import { conflict, type FieldError } from '../errors.ts';
import type { FetchedResources } from '../registry/external-resources.ts';
import type { Resource, ResourceKind } from './resources.ts';

export const PLAN_ACTIONS = ['create', 'update', 'unchanged', 'archive', 'keep'] as const;

export interface PlanItem {
  kind: ResourceKind;
  name: string;
  /** Null for a record that a dry run would create. */
  id: string | null;
  action: (typeof PLAN_ACTIONS)[number];
  /** Names of the fields that an update changes. */
  changes: string[];
  /** What somebody should know who applies it. */
  warnings: PlanWarning[];
}

/** `pointer` leads into the resource. */
type PlanWarning = FieldError;

export interface ApplyRequest {
  set: string;
  resources: Resource[];
  prune: boolean;
  dry_run: boolean;
  /** The digest of the plan that the caller has seen. */
  digest?: string | undefined;
}

export interface Applied {
  digest: string;
  plan: PlanItem[];
}

/**
 * Equal for equal requests on equal records with equal functions and schemas from elsewhere; ids of records
 * that do not exist yet do not count.
 */
export function digestOf(
  { set, resources }: ApplyRequest,
  plan: readonly PlanItem[],
  fetched: ReadonlyMap<string, FetchedResources>,
): string {
  const shown = plan.map(({ kind, name, id, action, changes }) => {
    return { kind, name, id: action === 'create' ? null : id, action, changes };
  });
  const taken = [...fetched].flatMap(([name, { resources: all }]) =>
    all.map(({ url, digest }) => [name, url, digest]),
  );
  return createHash('sha256')
    .update(canonicalJson({ set, resources, plan: shown, ...(taken.length === 0 ? {} : { taken }) }))
    .digest('hex');
}

/** Whoever prunes must have seen what is archived. */
export function checkPlan({ digest: seen }: ApplyRequest, digest: string, plan: readonly PlanItem[]): void {
  const archives = plan.some(({ action }) => action === 'archive');
  if (seen === digest || (seen === undefined && !archives)) return;
  const [code, detail] =
    seen === undefined
      ? ['plan_required', 'Pruning needs the digest of its plan: do a dry run first, and send its digest.']
      : ['plan_changed', 'The plan is not the one of this digest any more: look at it again.'];
  throw conflict(code, detail, { digest, plan });
}
