/** Human tasks of runs without a workflow: inserts rows as an activity would. */
import { v7 as uuidv7 } from 'uuid';
import type { NewHumanTask } from '../../contracts/activities.ts';
import { EVENT, type RunEnd, type RunStatus } from '../../contracts/run-events.ts';
import type { Orm } from '../../db/orm.ts';
import { createHumanTask } from '../../domain/hitl/lifecycle.ts';
import { appendEvents, lockRun, serviceEvent } from '../../domain/runs/events.ts';

export interface NewRun {
  owner: string;
  root?: string;
  parent?: string;
  status?: RunStatus;
  /** Of its workflow. */
  team?: string;
}

export async function insertRun(
  orm: Orm,
  { owner, parent, root = parent, status = 'waiting', team }: NewRun,
): Promise<string> {
  const id = uuidv7();
  await orm.em.fork().execute(
    `insert into run (id, workflow_name, definition, status, owner_id, parent_run_id, root_run_id, team_id)
       values (?, 'purchase', '{}', ?, ?, ?, ?, ?)`,
    [id, status, owner, parent ?? null, root ?? id, team ?? null],
  );
  return id;
}

const ENDS = {
  completed: EVENT.runCompleted,
  faulted: EVENT.runFaulted,
  cancelled: EVENT.runCancelled,
} as const;

/** Ends the run, as its workflow would. */
export async function endRun(
  orm: Orm,
  runId: string,
  end: RunEnd & { status: keyof typeof ENDS },
  message = `Run ${end.status}`,
): Promise<void> {
  const event = serviceEvent({ key: 'run:ended', type: ENDS[end.status], message });
  const batch = { events: [event], projection: null, acks: [] };
  await orm.em.fork().transactional((em) => appendEvents(em, runId, batch, { end }));
}

export function newTask(runId: string, given: Partial<NewHumanTask> = {}): NewHumanTask {
  return {
    id: uuidv7(),
    run_id: runId,
    task: '/do/1/review',
    task_name: 'review',
    title: 'Approve the purchase',
    description: null,
    subject: { amount: 10 },
    form_schema: null,
    decisions: [
      { id: 'approve', label: 'Approve', requires_comment: false },
      { id: 'reject', label: 'Reject', requires_comment: false },
    ],
    assignee: null,
    candidates: { users: [], roles: ['approver'], groups: [] },
    priority: 50,
    due_at: null,
    expires_at: null,
    quorum: null,
    ...given,
  };
}

/** Inserts a task as the activity does. @returns its id. */
export async function insertTask(
  orm: Orm,
  runId: string,
  given: Partial<NewHumanTask> = {},
): Promise<string> {
  const task = newTask(runId, given);
  await orm.em.fork().transactional(async (em) => {
    await lockRun(em, runId);
    await createHumanTask(em, task);
  });
  return task.id;
}

export const inOneHour = (): string => new Date(Date.now() + 3_600_000).toISOString();
export const aMomentAgo = (): string => new Date(Date.now() - 1_000).toISOString();
