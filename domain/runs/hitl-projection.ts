/** What the run's log and end mean for its human tasks. The tables are HITL's; the lock order is the run's. */
import type { EntityManager } from '@mikro-orm/postgresql';
import { EVENT } from '../../contracts/run-events.ts';
import type { NewRunEvent } from '../../contracts/run-events.ts';
import { cancelHumanTasks } from '../hitl/lifecycle.ts';
import { cancelledEvent } from '../hitl/task-events.ts';
import type { WrittenEvent } from './events.ts';

/** Times of the decisions whose arrival or use the log tells. */
export async function projectDecisions(em: EntityManager, events: WrittenEvent[]): Promise<void> {
  for (const [type, column] of [
    [EVENT.decisionReceived, 'received_at'],
    [EVENT.decisionApplied, 'applied_at'],
  ] as const) {
    const ids = events.filter((event) => event.type === type).map((event) => String(event.data['decision_id']));
    if (ids.length === 0) continue;
    await em.execute(`update hitl_decision set ${column} = clock_timestamp() where id = any(?::uuid[]) and ${column} is null`, [
      `{${ids.join(',')}}`,
    ]);
  }
}

/** Cancels what nobody has decided. @returns the events that tell of it, for before the run's last one. */
export async function closeHumanTasks(em: EntityManager, runId: string): Promise<NewRunEvent[]> {
  return (await cancelHumanTasks(em, runId)).map(cancelledEvent);
}
