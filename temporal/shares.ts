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
 * Of what is sent to the webhooks, and for the A2A tasks, of a user or a team. It is heavier than that of
 * their runs, so that deliveries come before a backlog of runs, and those of one holder hold back nobody
 * else's.
 */
export function shareOfDeliveries(holderId: string): Priority {
  return { fairnessKey: `deliveries ${holderId}`, fairnessWeight: 10 };
}

/**
 * Of the platform's own work: a heavier key is served more often than an owner's. The reconciler repairs what
 * the others leave undone, so it comes next.
 */
export const PLATFORM_SHARES = {
  notifications: { fairnessKey: 'notifications', fairnessWeight: 10 },
  reconcile: { fairnessKey: 'reconcile', fairnessWeight: 100 },
  retention: { fairnessKey: 'retention', fairnessWeight: 1 },
} as const satisfies Record<string, Priority>;
