import type { DescFile, DescService, FileRegistry } from '@bufbuild/protobuf';
import { create, createFileRegistry } from '@bufbuild/protobuf';
import {
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_source_context,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_type,
  file_google_protobuf_wrappers,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { fault } from '../../contracts/fault.ts';

/** A service with the types of its messages. */
export interface ServiceTypes {
  service: DescService;
  registry: FileRegistry;
}

/** The standard's own files by path; they are never fetched. */
export const WELL_KNOWN_FILES: ReadonlyMap<string, DescFile> = new Map(
  [
    file_google_protobuf_any,
    file_google_protobuf_api,
    file_google_protobuf_descriptor,
    file_google_protobuf_duration,
    file_google_protobuf_empty,
    file_google_protobuf_field_mask,
    file_google_protobuf_source_context,
    file_google_protobuf_struct,
    file_google_protobuf_timestamp,
    file_google_protobuf_type,
    file_google_protobuf_wrappers,
  ].map((file) => [`${file.name}.proto`, file]),
);

/**
 * The service of that full name in a file or one of those that it imports. `origin` says in errors where the
 * files come from. Throws `Fault` (configuration).
 */
export function serviceIn(
  main: FileDescriptorProto,
  files: ReadonlyMap<string, FileDescriptorProto>,
  name: string,
  origin: string,
): ServiceTypes {
  const registry = registryOf(main, files, origin);
  const service = registry.getService(name);
  if (service !== undefined) return { service, registry };
  const known = [...registry].flatMap((type) => (type.kind === 'service' ? [type.typeName] : []));
  throw fault(
    'configuration',
    `${origin} has no service ${JSON.stringify(name)}; it has ${known.slice(0, 20).join(', ') || 'none'}`,
  );
}

function registryOf(
  main: FileDescriptorProto,
  files: ReadonlyMap<string, FileDescriptorProto>,
  origin: string,
): FileRegistry {
  try {
    return createFileRegistry(create(FileDescriptorSetSchema, { file: importedFirst(main, files) }));
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : '';
    throw fault('configuration', `${origin} cannot be used: ${reason}`, { cause: error });
  }
}

/** The file and all that it imports, each after its own imports. */
function importedFirst(
  main: FileDescriptorProto,
  files: ReadonlyMap<string, FileDescriptorProto>,
): FileDescriptorProto[] {
  const ordered: FileDescriptorProto[] = [];
  const seen = new Set<string>();
  const visit = (file: FileDescriptorProto): void => {
    if (seen.has(file.name)) return;
    seen.add(file.name);
    for (const path of file.dependency) {
      const imported = WELL_KNOWN_FILES.get(path)?.proto ?? files.get(path);
      if (imported === undefined) throw new Error(`it imports ${path}, which is missing`);
      visit(imported);
    }
    ordered.push(file);
  };
  visit(main);
  return ordered;
}
