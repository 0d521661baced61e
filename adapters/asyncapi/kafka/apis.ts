/**
 * The requests of Kafka's protocol that calls need (kafka.apache.org/protocol). Each has one version, which
 * every broker from 2.1 on knows, 4.x included.
 */
import type { Aborted } from './records.ts';
import type { Reader, Writer } from './wire.ts';

export interface Api<In, Out> {
  key: number;
  version: number;
  write: (writer: Writer, input: In) => unknown;
  read: (reader: Reader) => Out;
}

const ANY_EPOCH = -1;
const NO_REPLICA = -1;
const READ_COMMITTED = 1;

export interface Metadata {
  brokers: { id: number; host: string; port: number }[];
  topics: { error: number; name: string; partitions: { error: number; id: number; leader: number }[] }[];
}

export const metadataApi: Api<{ topics: string[]; create: boolean }, Metadata> = {
  key: 3,
  version: 4,
  write: (writer, { topics, create }) =>
    writer.list(topics, (topic) => writer.string(topic)).int8(create ? 1 : 0),
  read(reader) {
    reader.int32();
    const brokers = reader.list((each) => {
      const [id, host, port] = [each.int32(), each.string(), each.int32()];
      each.nullableString();
      return { id, host, port };
    });
    reader.nullableString();
    reader.int32();
    const topics = reader.list((each) => {
      const [error, name] = [each.int16(), each.string()];
      each.int8();
      const partitions = each.list((part) => {
        const partition = { error: part.int16(), id: part.int32(), leader: part.int32() };
        part.list((replica) => replica.int32());
        part.list((replica) => replica.int32());
        return partition;
      });
      return { error, name, partitions };
    });
    return { brokers, topics };
  },
};

/** `timeoutMs`: for the replicas, all of which have to have it. Answers with the error. */
export const produceApi: Api<{ topic: string; partition: number; batch: Buffer; timeoutMs: number }, number> =
  {
    key: 0,
    version: 7,
    write: (writer, { topic, partition, batch, timeoutMs }) =>
      writer
        .string(null)
        .int16(-1)
        .int32(timeoutMs)
        .topic(topic, [partition], (id) => writer.int32(id).bytes(batch)),
    read(reader) {
      const [error = 0] = reader.partitions((each) => {
        each.int32();
        const code = each.int16();
        each.raw(24);
        return code;
      });
      return error;
    },
  };

export interface Position {
  partition: number;
  offset: bigint;
}

/** The offset of the next message of each partition. */
export const latestApi: Api<{ topic: string; partitions: number[] }, (Position & { error: number })[]> = {
  key: 2,
  version: 2,
  write: (writer, { topic, partitions }) =>
    writer
      .int32(NO_REPLICA)
      .int8(READ_COMMITTED)
      .topic(topic, partitions, (partition) => writer.int32(partition).int64(-1n)),
  read(reader) {
    reader.int32();
    return reader.partitions((each) => {
      const [partition, error] = [each.int32(), each.int16()];
      each.int64();
      return { partition, error, offset: each.int64() };
    });
  },
};

export interface Fetched {
  partition: number;
  error: number;
  aborted: Aborted[];
  records: Buffer;
}

interface FetchRequest {
  topic: string;
  positions: Position[];
  maxBytes: number;
  waitMs: number;
}

export const fetchApi: Api<FetchRequest, { error: number; partitions: Fetched[] }> = {
  key: 1,
  version: 10,
  write: (writer, { topic, positions, maxBytes, waitMs }) =>
    writer
      .int32(NO_REPLICA)
      .int32(waitMs)
      .int32(1)
      .int32(maxBytes)
      .int8(READ_COMMITTED)
      // Without a session.
      .int32(0)
      .int32(-1)
      .topic(topic, positions, ({ partition, offset }) =>
        writer.int32(partition).int32(ANY_EPOCH).int64(offset).int64(-1n).int32(maxBytes),
      )
      .list([], () => undefined),
  read(reader) {
    reader.int32();
    const error = reader.int16();
    reader.int32();
    const partitions = reader.partitions((each) => {
      const [partition, code] = [each.int32(), each.int16()];
      each.raw(24);
      const aborted = each.list((one) => ({ producerId: one.int64(), firstOffset: one.int64() }));
      return { partition, error: code, aborted, records: each.bytes() };
    });
    return { error, partitions };
  },
};

export const saslHandshake: Api<string, { error: number; mechanisms: string[] }> = {
  key: 17,
  version: 1,
  write: (writer, mechanism) => writer.string(mechanism),
  read: (reader) => ({ error: reader.int16(), mechanisms: reader.list((each) => each.string()) }),
};

export const saslAuthenticate: Api<Buffer, { error: number; message: string | null; bytes: Buffer }> = {
  key: 36,
  version: 0,
  write: (writer, bytes) => writer.bytes(bytes),
  read: (reader) => ({ error: reader.int16(), message: reader.nullableString(), bytes: reader.bytes() }),
};
