/**
 * Messages over Kafka, at least once. A subscription without a group sees what is sent while it is there. A
 * group goes on where it was; its offsets are committed once the call has its messages.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fault, Fault } from '../../contracts/fault.ts';
import { bindingText, lostConnection, settled } from './broker.ts';
import { MAX_RECEIVED_BYTES } from './message-queue.ts';
import { murmur2 } from './kafka/checksums.ts';
import { createCluster, type KafkaCluster, type Partition } from './kafka/cluster.ts';
import { produceApi } from './kafka/apis.ts';
import { ERROR, isStale, kafkaFault } from './kafka/errors.ts';
import { followTopic } from './kafka/follow-topic.ts';
import { createGroup } from './kafka/group.ts';
import { encodeBatch, type ReadRecord } from './kafka/records.ts';
import type { Connecting, OutboundMessage, Protocol } from './protocol.ts';

/** The header that is the key of a message, in both directions. */
const KEY_HEADER = 'kafka-key';
const ACKNOWLEDGE_MS = 20_000;
/** A new leader takes a few seconds. */
const TRIES = 20;
const RETRY_MS = 500;

export const overKafka: Protocol = {
  maxReceivedBytes: MAX_RECEIVED_BYTES,

  async send(connecting, message) {
    const topic = topicOf(connecting);
    const { key, batch } = recordOf(connecting, message);
    const cluster = createCluster(connecting);
    try {
      await produce(connecting, cluster, { topic, key, batch });
    } finally {
      cluster.close();
    }
    return null;
  },

  async subscribe(connecting, queue) {
    const topic = topicOf(connecting);
    const name = bindingText(connecting.target.bindings, 'groupId');
    const cluster = createCluster(connecting);
    const fail = (error: unknown): void =>
      queue.fail(error instanceof Fault ? error : lostConnection(connecting.target.host, error));
    const group = name === undefined ? null : createGroup({ connecting, cluster, group: name, topic, fail });
    const leave = async (): Promise<void> => {
      if (group !== null) await settled(group.leave());
      cluster.close();
    };
    try {
      const reader = await followTopic({
        connecting,
        cluster,
        group,
        topic,
        queue,
        push: (record, settle) => queue.push({ ...inbound(record), settle }),
      });
      const running = reader.run().catch(fail);
      return async (complete) => {
        try {
          const positions = reader.positions();
          if (complete && group !== null && positions.length > 0) await group.commit(positions);
        } finally {
          await leave();
          await settled(running);
        }
      };
    } catch (error) {
      await leave();
      throw error;
    }
  },
};

/** AsyncAPI "Kafka Channel": `topic`, else the address. */
function topicOf({ target }: Connecting): string {
  const topic = bindingText(target.bindings, 'topic') ?? target.address.replace(/^\/+/, '');
  if (!/^[\w.-]{1,249}$/.test(topic))
    throw fault('configuration', `The channel's address ${JSON.stringify(topic)} is no topic of Kafka`);
  return topic;
}

/** The key is the binding's if it has one value, else the header's. */
function recordOf(
  { target }: Connecting,
  { payload, headers }: OutboundMessage,
): { key: Buffer | null; batch: Buffer } {
  const { [KEY_HEADER]: given, ...others } = headers;
  const text = bindingText(target.messageBindings, 'key') ?? given;
  const key = text === undefined ? null : Buffer.from(text);
  const sent = Object.entries(others).map(([name, value]): [string, Buffer] => [name, Buffer.from(value)]);
  return { key, batch: encodeBatch({ key, value: Buffer.from(payload), headers: sent }, Date.now()) };
}

interface Production {
  topic: string;
  key: Buffer | null;
  batch: Buffer;
}

/** Resolves when all replicas that are in sync have it. Repeats it if the leader has changed. */
async function produce(
  connecting: Connecting,
  cluster: KafkaCluster,
  { topic, key, batch }: Production,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const partition = chosen(await cluster.partitions(topic, { create: true }), key);
    const connection = await cluster.leader(partition.leader);
    const request = { topic, partition: partition.id, batch, timeoutMs: ACKNOWLEDGE_MS };
    const code = await connection.request(produceApi, request);
    if (code === ERROR.none) return;
    if (!isStale(code) || tries === TRIES) throw kafkaFault(connecting, code, topic);
    await sleep(RETRY_MS, undefined, { signal: connecting.guard.signal });
  }
}

function chosen(partitions: readonly Partition[], key: Buffer | null): Partition {
  const index =
    key === null ? Math.floor(Math.random() * partitions.length) : murmur2(key) % partitions.length;
  const partition = partitions[index];
  if (partition === undefined) throw new Error('a topic without partitions');
  return partition;
}

function inbound({ key, value, headers }: ReadRecord) {
  return {
    // A copy: a part of a batch keeps all of it.
    payload: Buffer.from(value ?? Buffer.alloc(0)),
    headers: {
      ...Object.fromEntries(headers.map(([name, content]) => [name, content?.toString() ?? null])),
      ...(key === null ? {} : { [KEY_HEADER]: key.toString() }),
    },
  };
}
