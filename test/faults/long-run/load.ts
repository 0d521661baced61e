/** Clients at work: they start and cancel runs, send events and decide human tasks, and note every answer. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCaller, nothingSeen, type Answer, type Caller, type Seen } from './caller.ts';
import { EVENTS_PER_LISTENER, KINDS, TITLES, type Kind } from './definitions.ts';
import type { Scene } from './setup.ts';

/** `unknown`: the client has given up without an answer. */
type Outcome = 'accepted' | 'refused' | 'unknown';

export interface Start {
  /** A label of the run, and part of its effects. */
  op: string;
  kind: Kind;
  outcome: Outcome;
  /** The runs that answers named: more than one if a repeat was told another. */
  runIds: readonly string[];
  /** Of the kind `cancelled`, once it was tried. */
  cancel?: Outcome;
}

export interface Decision {
  taskId: string;
  decision: string;
  /** No two have the same. */
  comment: string;
  outcome: Outcome;
}

export interface SentEvent {
  op: string;
  type: 'faults.step' | 'faults.spark';
  n: number;
  outcome: Outcome;
  /** Of the record that the platform made of it. */
  ids: readonly string[];
}

export interface Ledger {
  starts: Start[];
  decisions: Decision[];
  events: SentEvent[];
  seen: Seen;
  refusals: string[];
}

export interface Load {
  ledger: Ledger;
  /** Begins nothing new any more; what has begun goes on. */
  stop(): void;
  /** When all that was begun has an answer, or `giveUp` was called. */
  done: Promise<void>;
  giveUp(): void;
  /** Nobody decides any more; resolves when the last decision has an answer. */
  end(): Promise<void>;
}

/** Operations that may wait for an answer at once; beyond, none begins. */
const MAX_UNDER_WAY = 300;
const KEPT_REFUSALS = 20;
const LOOK_MS = 400;
const SPARK_SHARE = 0.15;

export function startLoad(scene: Scene, urls: readonly string[], perSecond: number): Load {
  const work = new Work(scene, urls);
  const stopping = new AbortController();
  const begin = async (): Promise<void> => {
    for (let n = 0; !stopping.signal.aborted; n += 1) {
      const op = `op-${n}-${randomUUID().slice(0, 8)}`;
      if (Math.random() < SPARK_SHARE) work.begin(() => work.event(op, 'faults.spark', 0));
      else work.begin(() => work.start(op, KINDS[n % KINDS.length]!));
      await sleep(1_000 / perSecond, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  const ending = new AbortController();
  const deciding = work.decide(() => ending.signal.aborted);
  return {
    ledger: work.ledger,
    stop: () => stopping.abort(),
    done: begin().then(() => work.settled()),
    giveUp: () => work.giveUp(),
    async end() {
      ending.abort();
      await deciding;
      await work.settled();
    },
  };
}

class Work {
  readonly ledger: Ledger = { starts: [], decisions: [], events: [], seen: nothingSeen(), refusals: [] };
  readonly #scene: Scene;
  readonly #owner: Caller;
  readonly #decider: Caller;
  readonly #underWay = new Set<Promise<void>>();
  #hasTime = true;

  constructor(scene: Scene, urls: readonly string[]) {
    const shared = { urls, seen: this.ledger.seen, hasTime: () => this.#hasTime };
    this.#scene = scene;
    this.#owner = createCaller({ ...shared, token: scene.tokens.owner });
    this.#decider = createCaller({ ...shared, token: scene.tokens.decider });
  }

  begin(operation: () => Promise<void>): void {
    if (this.#underWay.size >= MAX_UNDER_WAY) return;
    const running: Promise<void> = operation().finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }

  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  giveUp(): void {
    this.#hasTime = false;
  }

  async start(op: string, kind: Kind): Promise<void> {
    const body = {
      input_params: { op, ms: 1_000 + Math.floor(Math.random() * 9_000) },
      labels: { op },
    };
    const path = `/workflows/${this.#scene.workflows[kind]}/run`;
    const answers = await twice(0.3, (options) => this.#owner.ask('POST', path, body, options));
    const started: Start = {
      op,
      kind,
      outcome: this.#outcomeOf(answers),
      runIds: distinct(answers.filter(isAccepted).map((answer) => answer.body.id as string)),
    };
    this.ledger.starts.push(started);
    const [runId] = started.runIds;
    if (runId === undefined) return;
    if (kind === 'cancelled') await this.#cancel(started, runId);
    if (kind === 'listening') {
      for (let n = 0; n < EVENTS_PER_LISTENER; n += 1) {
        await sleep(Math.random() * 3_000);
        await this.event(op, 'faults.step', n);
      }
    }
  }

  async #cancel(started: Start, runId: string): Promise<void> {
    await sleep(Math.random() * 10_000);
    const answers = await twice(0.3, (options) =>
      this.#owner.ask('POST', `/runs/${runId}/cancel`, {}, options),
    );
    started.cancel = this.#outcomeOf(answers);
  }

  /** Often sent twice, also at once: an event has an id of its sender's. */
  async event(op: string, type: SentEvent['type'], n: number): Promise<void> {
    const event = { specversion: '1.0', id: `${op}/${n}`, source: 'load', type, data: { op, n } };
    const send = (): Promise<Answer> =>
      // A key of its own for each: it is the event's id that makes them one.
      this.#owner.ask('POST', '/events', event, { contentType: 'application/cloudevents+json' });
    const answers = await twice(0.3, send);
    this.ledger.events.push({
      op,
      type,
      n,
      outcome: this.#outcomeOf(answers),
      ids: distinct(answers.filter(isAccepted).flatMap((answer) => idsOf(answer.body))),
    });
  }

  /** Looks for open tasks and decides them, sometimes by two callers who want different things. */
  async decide(isOver: () => boolean): Promise<void> {
    const known = new Set<string>();
    for (; !isOver(); await sleep(LOOK_MS)) {
      const { status, body } = await this.#decider.ask('GET', '/hitl/tasks?limit=100&sort=created');
      const tasks = status === 200 ? (body as { id: string; title: string }[]) : [];
      for (const { id, title } of tasks.filter((task) => !known.has(task.id))) {
        known.add(id);
        if (title.startsWith(TITLES.approval)) this.begin(() => this.#decideOne(id, 2_000));
        // About half of them expire.
        if (title.startsWith(TITLES.expiring)) this.begin(() => this.#decideOne(id, 14_000));
      }
    }
  }

  async #decideOne(taskId: string, withinMs: number): Promise<void> {
    await sleep(Math.random() * withinMs);
    const decideAs = async (decision: string): Promise<void> => {
      const comment = randomUUID();
      const path = `/hitl/tasks/${taskId}/decision`;
      const answer = await this.#decider.ask('POST', path, { decision, comment });
      this.ledger.decisions.push({ taskId, decision, comment, outcome: this.#outcomeOf([answer], [409]) });
    };
    const callers = Math.random() < 0.5 ? ['approve', 'reject'] : ['approve'];
    await Promise.all(callers.map(decideAs));
  }

  /** @param expected refusals that are no surprise */
  #outcomeOf(answers: readonly Answer[], expected: readonly number[] = []): Outcome {
    for (const { status, body } of answers) {
      if (status < 400 || expected.includes(status) || this.ledger.refusals.length >= KEPT_REFUSALS) continue;
      this.ledger.refusals.push(`${status} ${JSON.stringify(body)}`);
    }
    if (answers.some(isAccepted)) return 'accepted';
    return answers.some(({ status }) => status === 0) ? 'unknown' : 'refused';
  }
}

/** Asks once, or with this probability twice at the same time, with one key, of different copies. */
async function twice(
  probability: number,
  ask: (options: { key: string; copy: number }) => Promise<Answer>,
): Promise<Answer[]> {
  const key = randomUUID();
  const copies = Math.random() < probability ? [0, 1] : [Math.floor(Math.random() * 2)];
  return Promise.all(copies.map((copy) => ask({ key, copy })));
}

function isAccepted({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

function idsOf(body: unknown): string[] {
  return [body].flat().map((record) => (record as { id: string }).id);
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
