/**
 * Shares of the task queue. Temporal gives each fairness key its share of what waits, so nobody's backlog
 * delays the others (docs/adr/0017). Activities, and executions that continue, inherit it.
 */
import type { Priority } from '@temporalio/common';

/** Of runs, and of the times of schedules. */
export function shareOfOwner(ownerId: string): Priority {
  return { fairnessKey: ownerId };
}

/**
 * Of the platform's own work: a heavier key is served more often than an owner's. The reconciler repairs what
 * the others leave undone, so it comes next.
 */
export const PLATFORM_SHARES = {
  deliveries: { fairnessKey: 'deliveries', fairnessWeight: 10 },
  notifications: { fairnessKey: 'notifications', fairnessWeight: 10 },
  reconcile: { fairnessKey: 'reconcile', fairnessWeight: 100 },
  retention: { fairnessKey: 'retention', fairnessWeight: 1 },
} as const satisfies Record<string, Priority>;
