/** Reads a topic: all its partitions, or those that are ours in a group. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_MESSAGE_BYTES, type MessageQueue } from '../message-queue.ts';
import type { Connecting } from '../protocol.ts';
import { fetchApi, latestApi, type Fetched, type Position } from './apis.ts';
import type { KafkaCluster, Partition } from './cluster.ts';
import { ERROR, isStale, kafkaFault } from './errors.ts';
import type { KafkaGroup } from './group.ts';
import { batchesIn, recordsIn, type ReadRecord } from './records.ts';
import { malformed } from './wire.ts';

/** A broker holds a request as long if nothing comes. */
const WAIT_MS = 500;
const FETCH_BYTES = MAX_MESSAGE_BYTES / 8;
const RETRY_MS = 250;
/** Without a leader for a partition. */
const MAX_STALE = 120;
const NOWHERE = -1n;
/** Messages that wait for the call. */
const AT_ONCE = 500;

export interface TopicReader {
  /** Where to go on, of the partitions with messages that the call has looked at. */
  positions(): Position[];
  /** Ends with the queue. */
  run(): Promise<void>;
}

interface Reading {
  connecting: Connecting;
  cluster: KafkaCluster;
  group: KafkaGroup | null;
  topic: string;
  queue: MessageQueue;
  /** A record as a message, without `settle`. */
  push: (record: ReadRecord, settle: () => void) => void;
}

/** Resolves when it is clear where reading begins: what is sent later is read. Throws `Fault`. */
export async function followTopic(reading: Reading): Promise<TopicReader> {
  const follower = new Follower(reading, await reading.cluster.partitions(reading.topic));
  await follower.place();
  return follower;
}

class Follower implements TopicReader {
  readonly #reading: Reading;
  /** Of the next message to fetch; `NOWHERE` until the broker has said where the end is. */
  readonly #next = new Map<number, bigint>();
  /** Where the reading of each partition began. */
  readonly #begun = new Map<number, bigint>();
  readonly #settled = new Map<number, bigint>();
  #partitions: Partition[];
  #stale = 0;

  constructor(reading: Reading, partitions: Partition[]) {
    this.#reading = reading;
    this.#partitions = partitions;
  }

  positions(): Position[] {
    return [...this.#settled].map(([partition, offset]) => ({ partition, offset }));
  }

  async run(): Promise<void> {
    const { group, queue } = this.#reading;
    while (!queue.ended) {
      if (group?.isStale === true) await this.place();
      await queue.drained();
      if (!queue.ended) await this.#round();
    }
  }

  /** Which partitions are ours, and where to go on. */
  async place(): Promise<void> {
    const { group } = this.#reading;
    const given =
      group === null
        ? this.#partitions.map(({ id }) => ({ partition: id, offset: NOWHERE }))
        : await group.join();
    const before = new Map(this.#next);
    this.#next.clear();
    for (const { partition, offset } of given) {
      const known = before.get(partition);
      const goesOn = known !== undefined && known >= offset;
      this.#next.set(partition, goesOn ? known : offset);
      if (goesOn) continue;
      this.#begun.set(partition, offset);
      this.#settled.delete(partition);
    }
    // What others have now is theirs to commit, also of what waits here.
    for (const partition of this.#begun.keys()) {
      if (this.#next.has(partition)) continue;
      this.#begun.delete(partition);
      this.#settled.delete(partition);
    }
    await this.#begin();
    await group?.keep(this.#beginnings(given.filter(({ offset }) => offset === NOWHERE)));
  }

  /** Of partitions that the group has no offset of: what is sent between two calls would be lost. */
  #beginnings(given: Position[]): Position[] {
    return given.flatMap(({ partition }) => {
      const offset = this.#begun.get(partition);
      return offset === undefined || offset === NOWHERE ? [] : [{ partition, offset }];
    });
  }

  #settle(partition: number, offset: bigint): void {
    const begun = this.#begun.get(partition);
    if (begun !== undefined && offset >= begun) this.#settled.set(partition, offset + 1n);
  }

  /** Partitions without a position begin with the next message. */
  async #begin(): Promise<void> {
    const { connecting, cluster, topic } = this.#reading;
    const isMissing = ({ id }: Partition): boolean => this.#next.get(id) === NOWHERE;
    for (const [leader, ids] of byLeader(this.#partitions.filter(isMissing))) {
      const connection = await cluster.leader(leader);
      const answers = await connection.request(latestApi, { topic, partitions: ids });
      for (const { partition, error, offset } of answers) {
        if (error === ERROR.none && ids.includes(partition)) {
          this.#next.set(partition, offset);
          this.#begun.set(partition, offset);
        } else if (!isStale(error)) throw kafkaFault(connecting, error, topic);
      }
    }
    if (this.#partitions.some(isMissing)) await this.#refresh();
  }

  async #refresh(): Promise<void> {
    const { connecting, cluster, topic } = this.#reading;
    if (++this.#stale > MAX_STALE) throw kafkaFault(connecting, ERROR.leaderNotAvailable, topic);
    await sleep(RETRY_MS, undefined, { signal: connecting.guard.signal });
    this.#partitions = await cluster.partitions(topic);
    await this.#begin();
  }

  async #round(): Promise<void> {
    const { connecting, cluster, topic } = this.#reading;
    const mine = this.#partitions.filter(({ id }) => this.#next.has(id));
    if (mine.length === 0) await sleep(WAIT_MS, undefined, { signal: connecting.guard.signal });
    const leaders = byLeader(mine);
    const answers = await Promise.all(
      [...leaders].map(async ([leader, ids]) => {
        const connection = await cluster.leader(leader);
        const positions = ids.map((partition) => ({ partition, offset: this.#next.get(partition) ?? 0n }));
        const request = {
          topic,
          positions,
          maxBytes: Math.ceil(FETCH_BYTES / leaders.size),
          waitMs: WAIT_MS,
        };
        return connection.request(fetchApi, request, WAIT_MS);
      }),
    );
    let isFresh = true;
    for (const { error, partitions } of answers) {
      if (error !== ERROR.none) throw kafkaFault(connecting, error, topic);
      for (const each of partitions) isFresh = (await this.#take(each)) && isFresh;
    }
    if (isFresh) this.#stale = 0;
    else await this.#refresh();
  }

  /** False: the partition has another leader, or its messages are gone. */
  async #take({ partition, error, aborted, records }: Fetched): Promise<boolean> {
    const { connecting, topic, queue, push } = this.#reading;
    const from = this.#next.get(partition);
    if (from === undefined) return true;
    if (error === ERROR.offsetOutOfRange) this.#next.set(partition, NOWHERE);
    if (error === ERROR.offsetOutOfRange || isStale(error)) return false;
    if (error !== ERROR.none) throw kafkaFault(connecting, error, topic);
    const batches = batchesIn(records);
    const last = batches.at(-1);
    if (last === undefined) return true;
    if (last.lastOffset < from) throw malformed();
    let [count, bytes] = [0, 0];
    for await (const record of recordsIn(batches, from, aborted)) {
      push(record, () => this.#settle(partition, record.offset));
      count += 1;
      bytes += record.value?.length ?? 0;
      if (count === AT_ONCE || bytes > FETCH_BYTES) {
        await queue.drained();
        [count, bytes] = [0, 0];
      }
      if (queue.ended) return true;
    }
    this.#next.set(partition, last.lastOffset + 1n);
    await queue.drained();
    return true;
  }
}

function byLeader(partitions: readonly Partition[]): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const { id, leader } of partitions) groups.set(leader, [...(groups.get(leader) ?? []), id]);
  return groups;
}
