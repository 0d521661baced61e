/** The requests of a member of a consumer group, and what members tell each other in them. */
import type { Api, Position } from './apis.ts';
import { Reader, Writer } from './wire.ts';

/** The assignor that every client of Kafka knows. */
const ASSIGNOR = 'range';
const PROTOCOL = 'consumer';
const CONSUMER_VERSION = 0;
/** Of one member. */
const MAX_TOPICS = 100;

export interface Membership {
  group: string;
  generation: number;
  member: string;
}

export interface Coordinator {
  error: number;
  message: string | null;
  host: string;
  port: number;
}

export const coordinatorApi: Api<string, Coordinator> = {
  key: 10,
  version: 1,
  write: (writer, group) => writer.string(group).int8(0),
  read(reader) {
    reader.int32();
    const [error, message] = [reader.int16(), reader.nullableString()];
    reader.int32();
    return { error, message, host: reader.string(), port: reader.int32() };
  },
};

interface JoinRequest {
  group: string;
  member: string;
  topic: string;
  sessionMs: number;
  rebalanceMs: number;
}

export interface Joined {
  error: number;
  generation: number;
  leader: string;
  member: string;
  /** Of the leader only: who there is, with their topics. */
  members: { id: string; topics: string[] }[];
}

export const joinApi: Api<JoinRequest, Joined> = {
  key: 11,
  version: 3,
  write: (writer, { group, member, topic, sessionMs, rebalanceMs }) =>
    writer
      .string(group)
      .int32(sessionMs)
      .int32(rebalanceMs)
      .string(member)
      .string(PROTOCOL)
      .list([ASSIGNOR], (name) => writer.string(name).bytes(subscription([topic]))),
  read(reader) {
    reader.int32();
    const [error, generation] = [reader.int16(), reader.int32()];
    reader.string();
    const [leader, member] = [reader.string(), reader.string()];
    const members = reader.list((each) => ({ id: each.string(), topics: topicsOf(each.bytes()) }));
    return { error, generation, leader, member, members };
  },
};

export interface Assignment {
  member: string;
  topics: { topic: string; partitions: number[] }[];
}

export const syncApi: Api<
  Membership & { assignments: Assignment[] },
  { error: number; topics: Assignment['topics'] }
> = {
  key: 14,
  version: 2,
  write: (writer, { assignments, ...membership }) =>
    writeMembership(writer, membership).list(assignments, ({ member, topics }) =>
      writer.string(member).bytes(assignment(topics)),
    ),
  read(reader) {
    reader.int32();
    const error = reader.int16();
    return { error, topics: assigned(reader.bytes()) };
  },
};

export const heartbeatApi: Api<Membership, number> = {
  key: 12,
  version: 2,
  write: writeMembership,
  read: (reader) => (reader.int32(), reader.int16()),
};

export const leaveApi: Api<Membership, number> = {
  key: 13,
  version: 2,
  write: (writer, { group, member }) => writer.string(group).string(member),
  read: (reader) => (reader.int32(), reader.int16()),
};

export const committedApi: Api<
  { group: string; topic: string; partitions: number[] },
  { error: number; positions: (Position & { error: number })[] }
> = {
  key: 9,
  version: 4,
  write: (writer, { group, topic, partitions }) =>
    writer.string(group).topic(topic, partitions, (partition) => writer.int32(partition)),
  read(reader) {
    reader.int32();
    const positions = reader.partitions((each) => {
      const [partition, offset] = [each.int32(), each.int64()];
      each.nullableString();
      return { partition, offset, error: each.int16() };
    });
    return { error: reader.int16(), positions };
  },
};

/** Answers with the first error, or 0. */
export const commitApi: Api<Membership & { topic: string; positions: Position[] }, number> = {
  key: 8,
  version: 5,
  write: (writer, { topic, positions, ...membership }) =>
    writeMembership(writer, membership).topic(topic, positions, ({ partition, offset }) =>
      writer.int32(partition).int64(offset).string(null),
    ),
  read(reader) {
    reader.int32();
    const errors = reader.partitions((each) => (each.int32(), each.int16()));
    return errors.find((code) => code !== 0) ?? 0;
  },
};

function writeMembership(writer: Writer, { group, generation, member }: Membership): Writer {
  return writer.string(group).int32(generation).string(member);
}

function subscription(topics: string[]): Buffer {
  const writer = new Writer().int16(CONSUMER_VERSION);
  return writer
    .list(topics, (topic) => writer.string(topic))
    .int32(-1)
    .buffer();
}

/** Later versions of the same have more after that. */
function topicsOf(bytes: Buffer): string[] {
  if (bytes.length === 0) return [];
  const reader = new Reader(bytes);
  reader.int16();
  return reader.list((each) => each.string()).slice(0, MAX_TOPICS);
}

function assignment(topics: Assignment['topics']): Buffer {
  const writer = new Writer().int16(CONSUMER_VERSION);
  return writer
    .list(topics, ({ topic, partitions }) =>
      writer.string(topic).list(partitions, (partition) => writer.int32(partition)),
    )
    .int32(-1)
    .buffer();
}

function assigned(bytes: Buffer): Assignment['topics'] {
  if (bytes.length === 0) return [];
  const reader = new Reader(bytes);
  reader.int16();
  return reader.list((each) => ({ topic: each.string(), partitions: each.list((part) => part.int32()) }));
}
