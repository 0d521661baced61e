import { LOG_TEXT } from '../contracts/log-texts.ts';
import type { AskedBefore, Expired, RunActivities } from '../contracts/activities.ts';
import { EVENT, type EventBatch } from '../contracts/run-events.ts';
import type { EntityManager } from '../db/orm.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { appendEvents } from '../domain/runs/events.ts';
import { keepContext } from '../domain/hitl/context.ts';
import {
  cancelHumanTasks,
  createHumanTask,
  escalateHumanTask,
  expireHumanTask,
} from '../domain/hitl/lifecycle.ts';
import { readDecisionPayload } from '../domain/hitl/decision-payload.ts';
import { cancelledEvent } from '../domain/hitl/task-events.ts';
import { appendAnd, changeAndAppend } from './append.ts';
import type { ActivityDeps } from './deps.ts';

type HumanTaskActivities = Pick<
  RunActivities,
  'createHumanTask' | 'escalateHumanTask' | 'expireHumanTask' | 'cancelHumanTask'
>;

type NewTask = Parameters<RunActivities['createHumanTask']>[0];

/** The task whose creation the run's log has under the same key, if it is another one. */
async function askedBefore(
  em: EntityManager,
  { run_id, batch, human }: NewTask,
): Promise<NonNullable<AskedBefore['before']> | null> {
  const created = batch.events.find(
    ({ type, data }) => type === EVENT.hitlCreated && data['hitl_task_id'] === human.id,
  );
  const [row] = await em.execute<{ id: string; decided: boolean }[]>(
    `select t.id, t.status = 'decided' as decided
       from hitl_task t
      where t.id = (log_data(?::uuid, ?) ->> 'hitl_task_id')::uuid and t.run_id = ?::uuid and t.id <> ?`,
    [run_id, created?.key ?? '', run_id, human.id],
  );
  if (!row) return null;
  return { task_id: row.id, decision: row.decided ? await readDecisionPayload(em, row.id) : null };
}

/** The batch whose event names the assignee of the row; the workflow does not know who the run's owner is. */
function withAssignee({ batch, human }: NewTask, assignee: string | null): EventBatch {
  return {
    ...batch,
    events: batch.events.map((event) =>
      event.type === EVENT.hitlCreated && event.data['hitl_task_id'] === human.id
        ? { ...event, data: { ...event.data, assignee } }
        : event,
    ),
  };
}

/** With another task's id, wherever it is mentioned. */
function withTask(input: NewTask, taskId: string): NewTask {
  const text = JSON.stringify(input).replaceAll(input.human.id, taskId);
  // The assertion holds: only one id was replaced by another.
  return JSON.parse(text) as NewTask;
}

/**
 * Task row, event and the run's status are written in one transaction (docs/architecture.md#human-decisions).
 */
export function humanTaskActivities(deps: ActivityDeps): HumanTaskActivities {
  return {
    async createHumanTask(given) {
      const before = await askedBefore(deps.orm.em.fork(), given);
      const input = before === null ? given : withTask(given, before.task_id);
      // The projection's readers need the task's title and form, so its row is written first.
      const appended = await changeAndAppend(
        deps,
        input,
        async (em) => withAssignee(input, await createHumanTask(em, input.human)),
        (em) => (before === null ? keepContext(em, input.human) : Promise.resolve()),
      );
      return before === null ? appended : { ...appended, before };
    },
    escalateHumanTask: (input) => appendAnd(deps, input, (em) => escalateHumanTask(em, input)),
    cancelHumanTask: ({ task_id, ...input }) =>
      appendAnd(deps, input, async (em) => {
        const cancelled = await cancelHumanTasks(em, input.run_id, [task_id]);
        await appendEvents(em, input.run_id, {
          events: cancelled.map(cancelledEvent),
          projection: null,
          acks: [],
        });
      }),
    async expireHumanTask({ run_id, batch, task_id, event_key, at }) {
      const result = await deps.orm.em
        .fork()
        .transactional(async (em): Promise<Expired & { signals: string[] }> => {
          const before = await appendEvents(em, run_id, batch);
          if (before.closed) return { closed: true, outcome: 'expired', signals: [] };
          const expired = await expireHumanTask(em, { task_id });
          if (expired.outcome === 'decided') return { closed: false, ...expired, signals: before.signals };
          // A late request may have expired the task already, and written the event.
          if (!expired.fresh) return { closed: false, outcome: 'expired', signals: before.signals };
          const event = {
            key: event_key,
            type: EVENT.hitlExpired,
            at,
            level: 'warn' as const,
            task: event_key.slice(0, event_key.lastIndexOf('#')),
            message: LOG_TEXT.hitlExpired.inRun(),
            data: { hitl_task_id: task_id },
          };
          await appendEvents(em, run_id, { events: [event], projection: null, acks: [] });
          return { closed: false, outcome: 'expired', signals: before.signals };
        });
      const { signals, ...outcome } = result;
      await deliverSignals(deps, signals);
      return outcome;
    },
  };
}
