/** Schedules: runs that start by the clock. */

/** `schedule` of a definition, resolved. */
export type ScheduleTimes =
  | { kind: 'every'; ms: number }
  | { kind: 'cron'; cron: string }
  | { kind: 'after'; ms: number }
  | {
      kind: 'on';
      /** `on` of the definition. */
      on: Record<string, unknown>;
      /** `until` of `any`, if it is an expression. */
      until: string | null;
      read: 'data' | 'envelope' | 'raw';
    };

/** What happens at a time at which an earlier run of the schedule has not ended. */
export const OVERLAPS = ['skip', 'buffer_one', 'allow'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** A start may always be this late; Temporal refuses shorter windows. */
export const MIN_CATCH_UP_SECONDS = 10;

/** What became of one time of a schedule. */
export const START_OUTCOMES = ['started', 'skipped', 'missed', 'failed'] as const;
export type StartOutcome = (typeof START_OUTCOMES)[number];

/** Why a schedule started a run. */
export const START_CAUSES = ['time', 'trigger', 'backfill', 'event'] as const;
export type StartCause = (typeof START_CAUSES)[number];

/** Result of `startScheduledRun`; null values if there was nothing to start. */
export interface ScheduledStart {
  outcome: StartOutcome | 'buffered' | 'gone';
  run_id: string | null;
}
