/**
 * Notes that signals have arrived. What arrives while a statement does so waits for the next one, which then
 * has all of them: each of many decisions at once would otherwise need a connection and a commit.
 */
import type { MikroORM } from '@mikro-orm/postgresql';
import { lateFork } from '../../db/late-fork.ts';
import { markDelivered, type AnswerKept } from './signals.ts';

interface Arrival {
  id: string;
  runId: string;
  /** Told to the caller, and kept in place of the one that was kept before. */
  answer?: AnswerKept | undefined;
}

interface Waiting extends Arrival {
  resolve: () => void;
  reject: (error: unknown) => void;
}

class DeliveryMarks {
  readonly #orm: MikroORM;
  #waiting: Waiting[] = [];
  #isWorking = false;

  constructor(orm: MikroORM) {
    this.#orm = orm;
  }

  async add(arrival: Arrival): Promise<void> {
    const noted = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ ...arrival, resolve, reject });
    });
    if (!this.#isWorking) void this.#work();
    await noted;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let taken = this.#take(); taken.length > 0; taken = this.#take()) {
      try {
        const ids = taken.map(({ id }) => id);
        const answers = taken.flatMap(({ answer }) => answer ?? []);
        await markDelivered(lateFork(this.#orm.em), ids, answers);
        for (const { resolve } of taken) resolve();
      } catch (error) {
        for (const { reject } of taken) reject(error);
      }
    }
    this.#isWorking = false;
  }

  /**
   * One of a run: the run acknowledges several of its own in any order, and both would wait for each other.
   */
  #take(): Waiting[] {
    const byRun = new Map<string, Waiting>();
    const left: Waiting[] = [];
    for (const one of this.#waiting) {
      if (byRun.has(one.runId)) left.push(one);
      else byRun.set(one.runId, one);
    }
    this.#waiting = left;
    return [...byRun.values()];
  }
}

const marks = new WeakMap<MikroORM, DeliveryMarks>();

/** Resolves when it is noted that the signal with this id has arrived. */
export function markArrival(orm: MikroORM, arrival: Arrival): Promise<void> {
  let ofOrm = marks.get(orm);
  if (ofOrm === undefined) marks.set(orm, (ofOrm = new DeliveryMarks(orm)));
  return ofOrm.add(arrival);
}
