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
/** Of all descriptions of one call. Once decoded they take many times that. */
const MAX_DESCRIPTOR_BYTES = 2 * 1024 * 1024;
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
  let bytes = 0;
  const ask = async (question: Question): Promise<FileDescriptorProto[]> => {
    const descriptors = await filesFor(client, version, question, host, call);
    for (const descriptor of descriptors) bytes += descriptor.length;
    const tooMany = `The description of ${name} needs more than`;
    if (bytes > MAX_DESCRIPTOR_BYTES)
      throw fault('configuration', `${tooMany} ${MAX_DESCRIPTOR_BYTES} bytes`);
    const answer = descriptors.map((descriptor) => fileIn(descriptor, host));
    for (const file of answer) files.set(file.name, file);
    if (files.size > MAX_FILES) throw fault('configuration', `${tooMany} ${MAX_FILES} files`);
    return answer;
  };
  const found = await ask({ field: SYMBOL_FIELD, value: name });
  const main = found.find(({ package: prefix, service }) =>
    service.some((candidate) => [prefix, candidate.name].filter(Boolean).join('.') === name),
  );
  if (main === undefined)
    throw fault('configuration', `${host} describes no service ${JSON.stringify(name)}`);
  // Grows while it is read.
  const wanted = new Set(found.flatMap(({ dependency }) => dependency));
  for (const next of wanted) {
    if (files.has(next) || WELL_KNOWN_FILES.has(next)) continue;
    const more = await ask({ field: FILE_NAME_FIELD, value: next });
    if (!more.some((file) => file.name === next))
      throw fault(
        'configuration',
        `${host} does not describe ${JSON.stringify(next)}, which ${name} imports`,
      );
    for (const { dependency } of more) for (const path of dependency) wanted.add(path);
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
): Promise<Uint8Array[]> {
  const [answer] = await exchangeMessages(client, {
    ...call,
    path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    requests: [new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish()],
  });
  if (answer === undefined)
    throw fault('communication', `${host} did not answer the question of server reflection`, { status: 502 });
  try {
    const [descriptors] = lengthDelimited(answer, DESCRIPTORS_FIELD);
    if (descriptors) return lengthDelimited(descriptors, 1);
  } catch (error) {
    throw invalid(host, error);
  }
  throw fault('configuration', `${host} describes nothing by the name ${JSON.stringify(value)}`);
}

function fileIn(bytes: Uint8Array, host: string): FileDescriptorProto {
  try {
    const file = fromBinary(FileDescriptorProtoSchema, bytes);
    nameInJson(file.messageType);
    return file;
  } catch (error) {
    throw invalid(host, error);
  }
}

function invalid(host: string, cause: unknown): Error {
  return fault('communication', `${host} answered server reflection with invalid data`, {
    status: 502,
    cause,
  });
}

/** Compilers write the names in JSON; some libraries that describe services leave them out. */
function nameInJson(messages: readonly DescriptorProto[]): void {
  for (const { field, nestedType } of messages) {
    for (const each of field) each.jsonName ||= jsonNameOf(each.name);
    nameInJson(nestedType);
  }
}

/** The values of one field of an encoded message; no more than could be used. */
function lengthDelimited(message: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const values: Uint8Array[] = [];
  while (reader.pos < reader.len && values.length <= MAX_FILES) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) values.push(reader.bytes());
    else reader.skip(type, number);
  }
  return values;
}
