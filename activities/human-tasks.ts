import { LOG_TEXT } from '../contracts/log-texts.ts';
import type { Expired, RunActivities } from '../contracts/activities.ts';
import { EVENT } from '../contracts/run-events.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { appendEvents } from '../domain/runs/events.ts';
import { keepContext } from '../domain/hitl/context.ts';
import {
  cancelHumanTasks,
  createHumanTask,
  escalateHumanTask,
  expireHumanTask,
} from '../domain/hitl/lifecycle.ts';
import { cancelledEvent } from '../domain/hitl/task-events.ts';
import { appendAnd, changeAndAppend } from './append.ts';
import type { ActivityDeps } from './deps.ts';

type HumanTaskActivities = Pick<
  RunActivities,
  'createHumanTask' | 'escalateHumanTask' | 'expireHumanTask' | 'cancelHumanTask'
>;

/**
 * Task row, event and the run's status are written in one transaction (docs/architecture.md#human-decisions).
 */
export function humanTaskActivities(deps: ActivityDeps): HumanTaskActivities {
  return {
    // The projection's readers need the task's title and form, so its row is written first.
    createHumanTask: (input) =>
      changeAndAppend(
        deps,
        input,
        (em) => createHumanTask(em, input.human),
        (em) => keepContext(em, input.human),
      ),
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
