import { proxyActivities } from '@temporalio/workflow';
import type { RunActivities } from '../../contracts/activities.ts';

/** Each batch is a transaction of its own, so repeating is always right. */
const { removeExpired } = proxyActivities<RunActivities>({ startToCloseTimeout: '2m', heartbeatTimeout: '40s', retry: { initialInterval: '5s', maximumAttempts: 3 } });

const MAX_PASSES = 40;

/** What was kept long enough goes (interface-decisions §9). What is left after so many passes waits for the schedule's next one. */
export async function retention(): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const { more } = await removeExpired();
    if (!more) return;
  }
}
