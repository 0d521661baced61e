/** Entries of the shared log readers: the log of all runs, and the logs of single runs. */
import type { Logger } from '../../config/logger.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import type { Position } from '../../domain/events/position.ts';
import type { InsideOfRun } from '../../domain/runs/policy.ts';
import { SharedReader, type Entry, type LogSource } from './shared-reader.ts';

/** A log entry for the event stream: one or more CloudEvents at one position. */
export interface LogEntry extends Entry<Position> {
  events: { type: string; json: string }[];
  runId: string;
  workflowId: string | null;
  seenBy(actor: Actor): boolean;
  /** The event is about the actor's own run, or a human task for them. */
  concerns(actor: Actor): boolean;
}

/** An event of a run's stream; `place` is its `seq`. */
export interface RunEntry extends Entry<number> {
  text: string;
}

/** What decides who may follow a run, as last read; null if the run is deleted. */
export interface RunOwner {
  current: InsideOfRun | null;
}

/** A shared reader of one run's log, which also tracks the run's owner. */
export class RunReader extends SharedReader<RunEntry, number> {
  readonly owner: RunOwner;

  constructor(source: LogSource<RunEntry, number>, start: number, logger: Logger, owner: RunOwner) {
    super(source, start, logger);
    this.owner = owner;
  }
}
