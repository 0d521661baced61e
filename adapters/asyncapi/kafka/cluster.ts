/** The brokers of a Kafka cluster: connections to those that are needed, each to a checked address. */
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fault } from '../../../contracts/fault.ts';
import { bindingText } from '../broker.ts';
import type { Connecting } from '../protocol.ts';
import { metadataApi, type Metadata } from './apis.ts';
import { connectBroker, type BrokerConnection } from './broker-connection.ts';
import { ERROR, isStale, kafkaFault } from './errors.ts';
import { authenticate } from './sasl.ts';
import { malformed } from './wire.ts';

const MAX_BROKERS = 50;
const MAX_PARTITIONS = 1_000;
/** A topic that has just been created has no leaders yet. */
const TRIES = 20;
const RETRY_MS = 250;

export interface Partition {
  id: number;
  leader: number;
}

export interface KafkaCluster {
  /** As the cluster says now, by id. `create`: also of a topic that the broker makes. Throws `Fault`. */
  partitions(topic: string, options?: { create?: boolean }): Promise<Partition[]>;
  /** By its id, which partitions have. */
  leader(id: number): Promise<BrokerConnection>;
  /** A broker that another one names. */
  at(host: string, port: number): Promise<BrokerConnection>;
  any(): Promise<BrokerConnection>;
  close(): void;
}

export function createCluster(connecting: Connecting): KafkaCluster {
  return new Cluster(connecting);
}

class Cluster implements KafkaCluster {
  readonly #connecting: Connecting;
  readonly #clientId: string;
  readonly #connections = new Map<string, Promise<BrokerConnection>>();
  #brokers: Metadata['brokers'] = [];
  #isClosed = false;

  constructor(connecting: Connecting) {
    this.#connecting = connecting;
    this.#clientId = bindingText(connecting.target.bindings, 'clientId') ?? connecting.id;
  }

  async partitions(topic: string, { create = false } = {}): Promise<Partition[]> {
    const { signal } = this.#connecting.guard;
    for (let tries = 1; ; tries++) {
      const metadata = await (await this.any()).request(metadataApi, { topics: [topic], create });
      this.#brokers = metadata.brokers;
      const { error, partitions } = topicIn(metadata, topic);
      const problem =
        error === ERROR.none ? (partitions.find((each) => each.error !== 0)?.error ?? ERROR.none) : error;
      if (problem === ERROR.none) return partitions.toSorted((one, other) => one.id - other.id);
      const mayCome = isStale(problem) && (create || problem !== ERROR.unknownTopic);
      if (!mayCome || tries === TRIES) throw kafkaFault(this.#connecting, problem, topic);
      await sleep(RETRY_MS, undefined, { signal });
    }
  }

  async leader(id: number): Promise<BrokerConnection> {
    const broker = this.#brokers.find((each) => each.id === id);
    if (broker === undefined) throw malformed();
    return this.at(broker.host, broker.port);
  }

  at(host: string, port: number): Promise<BrokerConnection> {
    return this.#connectionTo(addressOf(host, port));
  }

  /** The first address of the document that answers; throws why the first one does not. */
  async any(): Promise<BrokerConnection> {
    const { target, guard } = this.#connecting;
    let failure: unknown = null;
    for (const host of target.host.split(',')) {
      try {
        return await this.#connectionTo(host);
      } catch (error) {
        guard.signal.throwIfAborted();
        failure ??= error;
      }
    }
    throw failure;
  }

  close(): void {
    this.#isClosed = true;
    for (const opening of this.#connections.values())
      opening.then((connection) => connection.close()).catch(() => undefined);
  }

  async #connectionTo(host: string): Promise<BrokerConnection> {
    const known = this.#connections.get(host);
    if (known !== undefined) {
      const connection = await known;
      if (connection.isOpen) return connection;
      if (this.#connections.get(host) === known) this.#connections.delete(host);
    }
    return this.#connections.get(host) ?? this.#begin(host);
  }

  #begin(host: string): Promise<BrokerConnection> {
    if (this.#connections.size >= MAX_BROKERS)
      throw fault('communication', `The cluster has more than ${MAX_BROKERS} brokers`, { status: 502 });
    const opening = this.#open(host);
    this.#connections.set(host, opening);
    opening.catch(() => this.#connections.delete(host));
    return opening;
  }

  async #open(host: string): Promise<BrokerConnection> {
    const connection = await connectBroker(this.#connecting, host, this.#clientId);
    try {
      await authenticate(this.#connecting, connection);
      if (this.#isClosed) throw malformed();
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }
}

function topicIn({ topics }: Metadata, name: string): Metadata['topics'][number] {
  const found = topics.find((each) => each.name === name);
  if (found === undefined || (found.error === ERROR.none && found.partitions.length === 0)) throw malformed();
  if (found.partitions.length > MAX_PARTITIONS)
    throw fault('communication', `The topic has more than ${MAX_PARTITIONS} partitions`, { status: 502 });
  return found;
}

/** Brokers name each other; whatever they say is checked like any address. */
function addressOf(host: string, port: number): string {
  if (!/^[\w.:-]{1,255}$/.test(host) || port < 1 || port > 65_535) throw malformed();
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
