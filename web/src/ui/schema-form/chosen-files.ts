/** What is common to fields for one file and for several. */
import { isRecord } from '../../../../contracts/is-record.ts';
import { mediaTypeOf } from '../../data/uploads.ts';
import type { FileEntry, Schema } from './fields.ts';
import { formProblems } from './form-check.ts';

/** What lets somebody upload files who is no builder: a task that they decide, a workflow that they start. */
export type UploadFor = { human_task: string } | { workflow: string };

export function nameOf({ file, name }: Pick<FileEntry, 'file' | 'name'>): string {
  const shown = [name, file?.['name'], file?.['file_id']].find((text) => typeof text === 'string');
  return shown ?? '';
}

/** What the schema of a file has against it, as far as it can be told before the upload. */
export function problemOf(schema: Schema, file: File): string | undefined {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const value = { name: file.name, media_type: mediaTypeOf(file), size: file.size };
  const known = Object.entries(properties).filter(([name]) => Object.hasOwn(value, name));
  return formProblems({ type: 'object', properties: Object.fromEntries(known) }, value)[0]?.message;
}

/** For the browser's own dialog. */
export function acceptedTypes(schema: Schema): string | undefined {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const { const: only, enum: several = [only] } = isRecord(properties['media_type'])
    ? properties['media_type']
    : {};
  const types = Array.isArray(several) ? several.filter((type) => typeof type === 'string') : [];
  return types.length === 0 ? undefined : types.join(',');
}
