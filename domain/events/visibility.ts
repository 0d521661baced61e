/** Who may see which events: those of their own runs, of human tasks that they may see, admins all. */
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { principalsOf } from '../hitl/principals.ts';
import { maySeeRun } from '../runs/policy.ts';
import type { LogEvent } from './log-reader.ts';

const HITL = 'io.cadenza.hitl.';

/** Of the human tasks that events are about: who they are for. */
export type TaskAudiences = ReadonlyMap<string, { principals: ReadonlySet<string>; claimed_by: string | null }>;

/** Read once for a batch of events. */
export async function taskAudiences(em: EntityManager, events: readonly LogEvent[]): Promise<TaskAudiences> {
  const ids = [...new Set(events.flatMap((event) => taskOf(event) ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await em.execute<{ id: string; principals: string[]; claimed_by: string | null }[]>(
    'select id, to_json(principals) as principals, claimed_by from hitl_task where id = any(?::uuid[])',
    [`{${ids.join(',')}}`],
  );
  return new Map(rows.map(({ id, principals, claimed_by }) => [id, { principals: new Set(principals), claimed_by }]));
}

export function maySeeEvent(actor: Actor, event: LogEvent, audiences: TaskAudiences): boolean {
  if (maySeeRun(actor, { owner_id: event.run_owner_id })) return true;
  const task = taskOf(event);
  const audience = task === null ? undefined : audiences.get(task);
  return audience !== undefined && (audience.claimed_by === actor.id || principalsOf(actor).some((principal) => audience.principals.has(principal)));
}

/** The human task that an event is about: such events are seen by others than the run's owner. */
export function taskOf({ type, data }: Pick<LogEvent, 'type' | 'data'>): string | null {
  const id = data['hitl_task_id'];
  return type.startsWith(HITL) && typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id : null;
}

