/**
 * Event visibility: users see events of their own runs and of human tasks that they may see; admins see all.
 */
import { EVENT } from '../../contracts/run-events.ts';
import { isLowercaseUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole } from '../auth/ownership.ts';
import type { HumanTask } from '../hitl/human-task.ts';
import { isConcerned } from '../hitl/policy.ts';
import { maySeeRun } from '../runs/policy.ts';
import type { LogEvent } from './log-reader.ts';

/** Not `faulted`, which quotes what went wrong inside. */
const OUTLINE: ReadonlySet<string> = new Set([
  EVENT.runCreated,
  EVENT.runStarted,
  EVENT.runCompleted,
  EVENT.runCancelled,
]);

const HITL = 'io.cadenza.hitl.';

/** Who may see the human tasks that events are about, by task id. */
export type TaskAudiences = ReadonlyMap<string, Audience>;

type Audience = Pick<HumanTask, 'principals' | 'delegates' | 'claimed_by'>;

/** Read once for a batch of events. */
export async function taskAudiences(em: EntityManager, events: readonly LogEvent[]): Promise<TaskAudiences> {
  const ids = [...new Set(events.flatMap((event) => taskOf(event) ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await em.execute<(Audience & { id: string })[]>(
    `select id, to_json(principals) as principals, delegates, claimed_by from hitl_task
      where id = any(?::uuid[])`,
    [arrayLiteral(ids)],
  );
  return new Map(rows.map(({ id, ...audience }) => [id, audience]));
}

export function maySeeEvent(actor: Actor, event: LogEvent, audiences: TaskAudiences): boolean {
  return maySeeRunOf(actor, event) || concerns(actor, event, audiences);
}

/** Of a run that they may not see from inside, its owner sees when it begins and how it ends. */
function maySeeRunOf(actor: Actor, event: LogEvent): boolean {
  const run = { owner_id: event.run_owner_id, team_id: event.run_team_id };
  if (!maySeeRun(actor, run)) return false;
  if (event.run_is_open || isAdmin(actor)) return true;
  if (hasTeamRole(actor, event.run_team_id, 'builder')) return true;
  return hasTeamRole(actor, event.run_team_id, 'viewer') || isOutline(event);
}

/** Says no more of a run than that it was created, has started or has completed. */
function isOutline({ type, run_is_child: isChild = false }: LogEvent): boolean {
  return OUTLINE.has(type) && !isChild;
}

/** Whether the event is about the actor's own run, or about a human task for them. */
export function concerns(actor: Actor, event: LogEvent, audiences: TaskAudiences): boolean {
  if (event.run_owner_id === actor.id && maySeeRunOf(actor, event)) return true;
  const task = taskOf(event);
  const audience = task === null ? undefined : audiences.get(task);
  return audience !== undefined && isConcerned(actor, audience);
}

/** The human task that an event is about; its audience may see the event too, not only the run's owner. */
export function taskOf({ type, data }: Pick<LogEvent, 'type' | 'data'>): string | null {
  const id = data['hitl_task_id'];
  return type.startsWith(HITL) && typeof id === 'string' && isLowercaseUuid(id) ? id : null;
}
