/**
 * What follows from a run's new status. TypeScript decides it; the SQL function `append_run_events` stores it
 * if the status is newer than that of the run's row, and has changed.
 */
import { v7 as uuidv7 } from 'uuid';

import type { A2ATaskState } from '../../contracts/a2a/objects.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT, type NewRunEvent, type RunProjection, type WaitingOn } from '../../contracts/run-events.ts';
import { STATE_BY_SUBJECT, stateOfRun } from '../a2a/state.ts';
import type { NewSignal } from './signals.ts';

interface ProjectionColumns extends RunProjection {
  /** Ids of the human tasks that the run waits for, in order. */
  asked: string[];
  /** For the log, if the run asked others before. */
  asked_event: Pick<NewRunEvent, 'key' | 'type' | 'level' | 'message' | 'data'>;
  /** For the A2A task that the run may be. */
  a2a_state: A2ATaskState;
  /** The state instead, if the subjects of all asked tasks have this type. */
  a2a_state_by_subject: Readonly<Record<string, A2ATaskState>>;
  /** Whether the A2A task is shown as paused. */
  paused: boolean;
  /** For the run's parent, if the run's waits for people change. */
  parent_signal: { id: string; kind: NewSignal['kind']; payload: Record<string, unknown> };
}

export function projectionColumns(runId: string, projection: RunProjection): ProjectionColumns {
  const { status, counter } = projection;
  const waits = waitsForPeople(projection);
  const asked = waits.flatMap(({ id }) => id ?? []).toSorted();
  const asks = asked.length > 0;
  const { kind, ...payload } = {
    kind: 'child.waiting',
    child_run_id: runId,
    waiting_on: waits,
    counter,
  } satisfies NewSignal;
  return {
    ...projection,
    asked,
    asked_event: {
      key: `people:${counter}`,
      type: asks ? EVENT.runInputRequired : EVENT.runInputReceived,
      level: 'info',
      message: asks ? LOG_TEXT.runInputRequired() : LOG_TEXT.runInputReceived(),
      data: { hitl_task_ids: asked },
    },
    a2a_state: stateOfRun({ status, asks }),
    a2a_state_by_subject: STATE_BY_SUBJECT,
    paused: status === 'suspended',
    parent_signal: { id: uuidv7(), kind, payload },
  };
}

/** The same as the SQL function `waits_for_people`, which reads the run's row. */
function waitsForPeople({ status, waiting_on: waits }: RunProjection): WaitingOn[] {
  return status === 'waiting' ? waits.filter(({ kind }) => kind === 'human') : [];
}
