/** A service as the server itself describes it (gRPC Server Reflection, v1 and v1alpha). */
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  FileDescriptorProtoSchema,
  type DescriptorProto,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { status, type Client, type Metadata } from '@grpc/grpc-js';
import { fault } from '../../contracts/fault.ts';
import { exchangeMessages } from './exchange-messages.ts';
import { jsonNameOf } from './proto-descriptors.ts';
import { serviceIn, WELL_KNOWN_FILES, type ServiceTypes } from './service-source.ts';
import { isServiceError } from './status-fault.ts';

const MAX_FILES = 200;
const VERSIONS = ['v1', 'v1alpha'] as const;

type Version = (typeof VERSIONS)[number];

export interface ReflectionCall {
  metadata: Metadata;
  deadline: Date;
  signal: AbortSignal;
}

/** Throws `Fault` (configuration) if the server does not describe the service. `host` is for messages. */
export async function serviceByReflection(
  client: Client,
  name: string,
  host: string,
  call: ReflectionCall,
): Promise<ServiceTypes> {
  for (const version of VERSIONS) {
    try {
      return await describe(client, version, name, host, call);
    } catch (error) {
      if (!isServiceError(error) || error.code !== status.UNIMPLEMENTED) throw error;
    }
  }
  throw fault(
    'configuration',
    `${host} does not offer server reflection: give the service's document in "proto"`,
  );
}

async function describe(
  client: Client,
  version: Version,
  name: string,
  host: string,
  call: ReflectionCall,
): Promise<ServiceTypes> {
  const files = new Map<string, FileDescriptorProto>();
  const ask = (question: Question): Promise<FileDescriptorProto[]> =>
    filesFor(client, version, question, host, call);
  const found = await ask({ field: SYMBOL_FIELD, value: name });
  for (const file of found) files.set(file.name, file);
  const main = found.find(({ package: prefix, service }) =>
    service.some((candidate) => [prefix, candidate.name].filter(Boolean).join('.') === name),
  );
  if (main === undefined)
    throw fault('configuration', `${host} describes no service ${JSON.stringify(name)}`);
  const pending = found.flatMap(({ dependency }) => dependency);
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    if (files.has(next) || WELL_KNOWN_FILES.has(next)) continue;
    if (files.size >= MAX_FILES)
      throw fault('configuration', `The description of ${name} needs more than ${MAX_FILES} files`);
    const more = await ask({ field: FILE_NAME_FIELD, value: next });
    if (!more.some((file) => file.name === next))
      throw fault(
        'configuration',
        `${host} does not describe ${JSON.stringify(next)}, which ${name} imports`,
      );
    for (const file of more) {
      files.set(file.name, file);
      pending.push(...file.dependency);
    }
  }
  return serviceIn(main, files, name, host);
}

/** The members of ServerReflectionRequest, and of its answer, by their numbers. */
const FILE_NAME_FIELD = 3;
const SYMBOL_FIELD = 4;
const DESCRIPTORS_FIELD = 4;

interface Question {
  field: typeof FILE_NAME_FIELD | typeof SYMBOL_FIELD;
  value: string;
}

async function filesFor(
  client: Client,
  version: Version,
  { field, value }: Question,
  host: string,
  call: ReflectionCall,
): Promise<FileDescriptorProto[]> {
  const [answer] = await exchangeMessages(client, {
    ...call,
    path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    requests: [new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish()],
  });
  if (answer === undefined)
    throw fault('communication', `${host} did not answer the question of server reflection`, { status: 502 });
  try {
    const [descriptors] = lengthDelimited(answer, DESCRIPTORS_FIELD);
    if (descriptors)
      return lengthDelimited(descriptors, 1).map((bytes) => {
        const file = fromBinary(FileDescriptorProtoSchema, bytes);
        nameInJson(file.messageType);
        return file;
      });
  } catch (error) {
    throw fault('communication', `${host} answered server reflection with invalid data`, {
      status: 502,
      cause: error,
    });
  }
  throw fault('configuration', `${host} describes nothing by the name ${JSON.stringify(value)}`);
}

/** Compilers write the names in JSON; some libraries that describe services leave them out. */
function nameInJson(messages: readonly DescriptorProto[]): void {
  for (const { field, nestedType } of messages) {
    for (const each of field) each.jsonName ||= jsonNameOf(each.name);
    nameInJson(nestedType);
  }
}

/** The values of one field of an encoded message. */
function lengthDelimited(message: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const values: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) values.push(reader.bytes());
    else reader.skip(type, number);
  }
  return values;
}
