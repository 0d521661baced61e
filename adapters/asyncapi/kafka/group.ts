/**
 * A member of a consumer group (Kafka's classic group protocol): which partitions of the topic are its own,
 * and from where it goes on. Offsets are committed once the call has its messages.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fault } from '../../../contracts/fault.ts';
import type { Connecting } from '../protocol.ts';
import type { Position } from './apis.ts';
import type { BrokerConnection } from './broker-connection.ts';
import type { KafkaCluster } from './cluster.ts';
import { ERROR, kafkaFault, mustFindCoordinator, mustRejoin } from './errors.ts';
import {
  commitApi,
  committedApi,
  coordinatorApi,
  heartbeatApi,
  joinApi,
  leaveApi,
  syncApi,
  type Assignment,
  type Joined,
  type Membership,
} from './group-apis.ts';

const SESSION_MS = 30_000;
const REBALANCE_MS = 60_000;
const HEARTBEAT_MS = 3_000;
const RETRY_MS = 250;
/** A coordinator may be starting. */
const TRIES = 60;
const COMMIT_TRIES = 3;
/** Of a group, and topics of all members together, of which the leader assigns the partitions. */
const MAX_MEMBERS = 1_000;
const MAX_TOPICS = 100;

export interface KafkaGroup {
  /** Joins, also again. The positions of the partitions that are ours; -1 where the group has none yet. */
  join(): Promise<Position[]>;
  /** Keeps where new partitions begin. What others change meanwhile makes the group stale. */
  keep(positions: Position[]): Promise<void>;
  /** Whether others have come or gone, so that partitions change hands. */
  readonly isStale: boolean;
  commit(positions: Position[]): Promise<void>;
  leave(): Promise<void>;
}

interface GroupDeps {
  connecting: Connecting;
  cluster: KafkaCluster;
  group: string;
  topic: string;
  /** Of the heartbeats, which nobody waits for. */
  fail: (error: unknown) => void;
}

export function createGroup(deps: GroupDeps): KafkaGroup {
  return new Group(deps);
}

class Group implements KafkaGroup {
  readonly #deps: GroupDeps;
  #coordinator: BrokerConnection | null = null;
  #membership: Membership;
  #isStale = false;
  #hasLeft = false;
  #beating: NodeJS.Timeout | undefined;

  constructor(deps: GroupDeps) {
    this.#deps = deps;
    this.#membership = { group: deps.group, generation: -1, member: '' };
  }

  get isStale(): boolean {
    return this.#isStale;
  }

  async join(): Promise<Position[]> {
    const { connecting, group, topic, fail } = this.#deps;
    clearInterval(this.#beating);
    for (let tries = 1; ; tries++) {
      const topics = await this.#tryToJoin();
      if (topics !== null) {
        this.#isStale = false;
        this.#startBeating(fail);
        const own = topics.find((each) => each.topic === topic)?.partitions ?? [];
        return own.length === 0
          ? []
          : await committed(connecting, await this.#found(), { group, topic, own });
      }
      if (tries === TRIES)
        throw fault('communication', `The group ${group} does not come to rest`, { status: 503 });
      await sleep(RETRY_MS, undefined, { signal: connecting.guard.signal });
    }
  }

  async keep(positions: Position[]): Promise<void> {
    if (positions.length === 0) return;
    const code = await this.#tryToCommit(positions);
    if (code === ERROR.none) return;
    if (mustFindCoordinator(code)) this.#coordinator = null;
    else if (!mustRejoin(code)) throw kafkaFault(this.#deps.connecting, code, this.#deps.group);
    this.#isStale = true;
  }

  async commit(positions: Position[]): Promise<void> {
    const { connecting, group } = this.#deps;
    let left = positions;
    for (let tries = 1; left.length > 0; tries++) {
      const code = await this.#tryToCommit(left);
      if (code === ERROR.none) return;
      if (tries === COMMIT_TRIES || !(mustRejoin(code) || mustFindCoordinator(code)))
        throw kafkaFault(connecting, code, group);
      if (mustFindCoordinator(code)) this.#coordinator = null;
      // What others have now, they read again; what they have read since, stays read.
      const own = new Map((await this.join()).map(({ partition, offset }) => [partition, offset]));
      left = left.filter(({ partition, offset }) => (own.get(partition) ?? offset) < offset);
    }
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearInterval(this.#beating);
    if (this.#coordinator?.isOpen === true && this.#membership.member !== '')
      await this.#coordinator.request(leaveApi, this.#membership);
  }

  /** The error, or 0. */
  async #tryToCommit(positions: Position[]): Promise<number> {
    const request = { ...this.#membership, topic: this.#deps.topic, positions };
    return (await this.#found()).request(commitApi, request);
  }

  /** Unless the call is over, which nobody who is joining can know. */
  #startBeating(fail: (error: unknown) => void): void {
    if (this.#hasLeft) return;
    this.#beating = setInterval(() => {
      this.#beat().catch((error: unknown) => {
        clearInterval(this.#beating);
        fail(error);
      });
    }, HEARTBEAT_MS);
    this.#beating.unref();
  }

  async #found(): Promise<BrokerConnection> {
    const { connecting, cluster, group } = this.#deps;
    for (let tries = 1; ; tries++) {
      if (this.#coordinator?.isOpen === true) return this.#coordinator;
      const answer = await (await cluster.any()).request(coordinatorApi, group);
      if (answer.error === ERROR.none) this.#coordinator = await cluster.at(answer.host, answer.port);
      else if (!mustFindCoordinator(answer.error) || tries === TRIES)
        throw kafkaFault(connecting, answer.error, answer.message);
      else await sleep(RETRY_MS, undefined, { signal: connecting.guard.signal });
    }
  }

  async #beat(): Promise<void> {
    if (this.#isStale) return;
    const code = await (await this.#found()).request(heartbeatApi, this.#membership);
    if (mustFindCoordinator(code)) this.#coordinator = null;
    else if (mustRejoin(code)) this.#isStale = true;
    else if (code !== ERROR.none) throw kafkaFault(this.#deps.connecting, code);
  }

  /** Null: others have come or gone meanwhile, or the group is elsewhere now. */
  async #tryToJoin(): Promise<Assignment['topics'] | null> {
    const { connecting, cluster, group, topic } = this.#deps;
    const connection = await this.#found();
    const times = { sessionMs: SESSION_MS, rebalanceMs: REBALANCE_MS };
    const request = { group, member: this.#membership.member, topic, ...times };
    const joined = await connection.request(joinApi, request, REBALANCE_MS);
    if (joined.error !== ERROR.none) {
      if (this.#again(joined.error)) return null;
      throw kafkaFault(connecting, joined.error, group);
    }
    this.#membership = { group, generation: joined.generation, member: joined.member };
    const assignments = joined.leader === joined.member ? await assign(cluster, joined) : [];
    const synced = await connection.request(syncApi, { ...this.#membership, assignments }, REBALANCE_MS);
    if (synced.error === ERROR.none) return synced.topics;
    if (this.#again(synced.error)) return null;
    throw kafkaFault(connecting, synced.error, group);
  }

  /** Whether another try may succeed after this error. */
  #again(code: number): boolean {
    if (mustFindCoordinator(code)) this.#coordinator = null;
    if (code === ERROR.unknownMember) this.#membership = { ...this.#membership, member: '' };
    return mustFindCoordinator(code) || mustRejoin(code);
  }
}

async function committed(
  connecting: Connecting,
  coordinator: BrokerConnection,
  { group, topic, own }: { group: string; topic: string; own: number[] },
): Promise<Position[]> {
  const { error, positions } = await coordinator.request(committedApi, { group, topic, partitions: own });
  const problem = error === ERROR.none ? (positions.find((each) => each.error !== 0)?.error ?? 0) : error;
  if (problem !== ERROR.none) throw kafkaFault(connecting, problem, group);
  return positions.filter(({ partition }) => own.includes(partition));
}

/** Kafka's assignor "range": for each topic, every member gets neighbouring partitions. */
async function assign(cluster: KafkaCluster, { members }: Joined): Promise<Assignment[]> {
  if (members.length > MAX_MEMBERS)
    throw fault('communication', `The group has more than ${MAX_MEMBERS} members`, { status: 502 });
  const assignments = new Map<string, Assignment>(members.map(({ id }) => [id, { member: id, topics: [] }]));
  const topics = [...new Set(members.flatMap((member) => member.topics))].slice(0, MAX_TOPICS);
  for (const topic of topics) {
    const takers = members
      .filter((member) => member.topics.includes(topic))
      .map(({ id }) => id)
      .toSorted();
    const partitions = (await cluster.partitions(topic)).map(({ id }) => id);
    const least = Math.floor(partitions.length / takers.length);
    const more = partitions.length % takers.length;
    let next = 0;
    for (const [index, taker] of takers.entries()) {
      const count = least + (index < more ? 1 : 0);
      if (count > 0)
        assignments.get(taker)?.topics.push({ topic, partitions: partitions.slice(next, next + count) });
      next += count;
    }
  }
  return [...assignments.values()];
}
