/** References to files in inputs and forms, `{file_id, name, …}`, and the schemas that describe them. */
import { isRecord } from './is-record.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Files that a person attaches to one decision, or to runs of a workflow that have not started. */
export const MAX_ATTACHED_FILES = 50;

const MEMBERS = ['file_id', 'name', 'media_type', 'size', 'sha256'] as const;

/** What an upload tells of the file. */
interface Uploaded {
  id: string;
  name: string;
  media_type: string;
  size: number;
  sha256: string;
}

/** Whether a file fills the object: it has a `file_id`, and needs nothing that a reference lacks. */
export function isFileSchema(schema: Schema): boolean {
  const { type = 'object', properties, required } = schema;
  if (type !== 'object' || !isRecord(properties) || !Object.hasOwn(properties, 'file_id')) return false;
  const known: ReadonlySet<unknown> = new Set(MEMBERS);
  return !Array.isArray(required) || required.every((name) => known.has(name));
}

/** Whether files fill the array: each of its entries is one. */
export function isFileListSchema({ type, items, prefixItems }: Schema): boolean {
  return type === 'array' && prefixItems === undefined && isRecord(items) && isFileSchema(items);
}

/** The reference to the file, with no more than the schema allows. */
export function referenceTo({ id, ...file }: Uploaded, schema?: unknown): Record<string, unknown> {
  const { properties, additionalProperties, unevaluatedProperties } = isRecord(schema) ? schema : {};
  const isClosed = additionalProperties === false || unevaluatedProperties === false;
  const allowed = isClosed && isRecord(properties) ? properties : null;
  const reference = { ...file, file_id: id };
  return Object.fromEntries(
    MEMBERS.filter((name) => allowed === null || Object.hasOwn(allowed, name)).map((name) => [
      name,
      reference[name],
    ]),
  );
}
