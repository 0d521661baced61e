/**
 * Descriptors of a parsed `.proto` file. Presence, packing and groups are written as features of an edition,
 * so that the syntax of the file does not matter.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  DescriptorProtoSchema,
  Edition,
  EnumDescriptorProtoSchema,
  FeatureSet_EnumType,
  FeatureSet_FieldPresence,
  FeatureSet_MessageEncoding,
  FeatureSet_RepeatedFieldEncoding,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  ServiceDescriptorProtoSchema,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import protobuf from 'protobufjs';

type Message = MessageInitShape<typeof DescriptorProtoSchema>;
type Field = MessageInitShape<typeof FieldDescriptorProtoSchema>;
type Enumeration = MessageInitShape<typeof EnumDescriptorProtoSchema>;
type Service = MessageInitShape<typeof ServiceDescriptorProtoSchema>;

const SCALARS: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  double: FieldDescriptorProto_Type.DOUBLE,
  float: FieldDescriptorProto_Type.FLOAT,
  int64: FieldDescriptorProto_Type.INT64,
  uint64: FieldDescriptorProto_Type.UINT64,
  int32: FieldDescriptorProto_Type.INT32,
  fixed64: FieldDescriptorProto_Type.FIXED64,
  fixed32: FieldDescriptorProto_Type.FIXED32,
  bool: FieldDescriptorProto_Type.BOOL,
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  uint32: FieldDescriptorProto_Type.UINT32,
  sfixed32: FieldDescriptorProto_Type.SFIXED32,
  sfixed64: FieldDescriptorProto_Type.SFIXED64,
  sint32: FieldDescriptorProto_Type.SINT32,
  sint64: FieldDescriptorProto_Type.SINT64,
};
const UNPACKED = new Set<FieldDescriptorProto_Type>([
  FieldDescriptorProto_Type.STRING,
  FieldDescriptorProto_Type.BYTES,
  FieldDescriptorProto_Type.MESSAGE,
]);

export interface ParsedFile {
  path: string;
  /** Empty for none. */
  packageName: string;
  /** Paths of the imports that were found. */
  imports: string[];
}

/** `root` holds all files, with all names resolved. */
export function descriptorOf(file: ParsedFile, root: protobuf.Root): FileDescriptorProto {
  const holder = file.packageName === '' ? root : root.lookup(file.packageName);
  const all = holder instanceof protobuf.Namespace ? holder.nestedArray : [];
  const own = all.filter(({ filename }) => filename === file.path);
  return create(FileDescriptorProtoSchema, {
    name: file.path,
    package: file.packageName,
    dependency: file.imports,
    syntax: 'editions',
    edition: Edition.EDITION_2023,
    messageType: own.flatMap((type) => (type instanceof protobuf.Type ? [messageOf(type)] : [])),
    enumType: own.flatMap((type) => (type instanceof protobuf.Enum ? [enumOf(type)] : [])),
    service: own.flatMap((type) => (type instanceof protobuf.Service ? [serviceOf(type)] : [])),
  });
}

function messageOf(type: protobuf.Type): Message {
  // In an edition, an optional field needs no `oneof` of its own.
  const oneofs = type.oneofsArray.filter((oneof) => !oneof.isProto3Optional);
  const fields = type.fieldsArray.filter(({ declaringField }) => !declaringField);
  const maps = fields.filter((field) => field instanceof protobuf.MapField);
  return {
    name: type.name,
    field: fields.map((field) => fieldOf(field, oneofs)),
    oneofDecl: oneofs.map(({ name }) => ({ name })),
    nestedType: [
      ...type.nestedArray.flatMap((inner) => (inner instanceof protobuf.Type ? [messageOf(inner)] : [])),
      ...maps.map(mapEntryOf),
    ],
    enumType: type.nestedArray.flatMap((inner) => (inner instanceof protobuf.Enum ? [enumOf(inner)] : [])),
  };
}

function fieldOf(field: protobuf.Field, oneofs: readonly protobuf.OneOf[]): Field {
  const isMap = field instanceof protobuf.MapField;
  const { type, typeName } = isMap
    ? { type: FieldDescriptorProto_Type.MESSAGE, typeName: `${field.parent?.fullName}.${entryName(field)}` }
    : typeOf(field);
  const oneofIndex = field.partOf === null ? -1 : oneofs.indexOf(field.partOf);
  const isRepeated = field.repeated || isMap;
  const features = {
    ...(isRepeated || oneofIndex >= 0 ? {} : { fieldPresence: presenceOf(field, type) }),
    ...(isRepeated && !UNPACKED.has(type)
      ? {
          repeatedFieldEncoding: field.packed
            ? FeatureSet_RepeatedFieldEncoding.PACKED
            : FeatureSet_RepeatedFieldEncoding.EXPANDED,
        }
      : {}),
    ...(field.delimited ? { messageEncoding: FeatureSet_MessageEncoding.DELIMITED } : {}),
  };
  const { name } = field;
  const given: unknown = field.options?.['json_name'];
  return {
    name,
    number: field.id,
    label: isRepeated ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL,
    type,
    ...(typeName === undefined ? {} : { typeName }),
    jsonName: typeof given === 'string' ? given : jsonNameOf(name),
    ...(oneofIndex < 0 ? {} : { oneofIndex }),
    options: { features },
  };
}

function presenceOf(field: protobuf.Field, type: FieldDescriptorProto_Type): FeatureSet_FieldPresence {
  if (field.required) return FeatureSet_FieldPresence.LEGACY_REQUIRED;
  return type === FieldDescriptorProto_Type.MESSAGE || field.hasPresence
    ? FeatureSet_FieldPresence.EXPLICIT
    : FeatureSet_FieldPresence.IMPLICIT;
}

function typeOf({ type, resolvedType }: protobuf.FieldBase): {
  type: FieldDescriptorProto_Type;
  typeName?: string;
} {
  const scalar = Object.hasOwn(SCALARS, type) ? SCALARS[type] : undefined;
  if (scalar !== undefined) return { type: scalar };
  return {
    type:
      resolvedType instanceof protobuf.Enum
        ? FieldDescriptorProto_Type.ENUM
        : FieldDescriptorProto_Type.MESSAGE,
    typeName: resolvedType?.fullName ?? type,
  };
}

function mapEntryOf(field: protobuf.MapField): Message {
  const side = (name: string, number: number, type: { type: FieldDescriptorProto_Type }): Field => ({
    name,
    number,
    jsonName: name,
    label: FieldDescriptorProto_Label.OPTIONAL,
    ...type,
  });
  return {
    name: entryName(field),
    field: [
      side('key', 1, { type: SCALARS[field.keyType] ?? FieldDescriptorProto_Type.STRING }),
      side('value', 2, typeOf(field)),
    ],
    options: { mapEntry: true },
  };
}

/** As the compiler names it: `inner_items` becomes `InnerItemsEntry`. */
function entryName({ name }: protobuf.FieldBase): string {
  return `${name.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())}Entry`;
}

/** `display_name` becomes `displayName`. */
export function jsonNameOf(name: string): string {
  return name.replaceAll(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

function enumOf({ name, values, options }: protobuf.Enum): Enumeration {
  const entries = Object.entries(values);
  const isClosed = !entries.some(([, number], index) => index === 0 && number === 0);
  return {
    name,
    value: entries.map(([value, number]) => ({ name: value, number })),
    options: {
      ...(options?.['allow_alias'] === true ? { allowAlias: true } : {}),
      // An open enumeration begins with zero; JSON treats both alike.
      features: { enumType: isClosed ? FeatureSet_EnumType.CLOSED : FeatureSet_EnumType.OPEN },
    },
  };
}

function serviceOf(service: protobuf.Service): Service {
  return {
    name: service.name,
    method: service.methodsArray.map((method) => ({
      name: method.name,
      inputType: method.resolvedRequestType?.fullName ?? method.requestType,
      outputType: method.resolvedResponseType?.fullName ?? method.responseType,
      clientStreaming: method.requestStream === true,
      serverStreaming: method.responseStream === true,
    })),
  };
}
