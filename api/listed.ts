/**
 * Records in lists omit fields over 16 KiB, in a summary over 1 KiB, and name them in `omitted`. A single
 * record has all fields.
 */
import * as z from 'zod';

import { LIST_VIEWS, VIEW_FIELD_BYTES } from '../db/large-fields.ts';

type Mask<S extends z.ZodRawShape> = { [Key in keyof S]?: true };

/** OpenAPI description of `omitted`. */
const FULL_KIB = VIEW_FIELD_BYTES.full / 1024;
const SUMMARY_KIB = VIEW_FIELD_BYTES.summary / 1024;
const DESCRIPTION =
  `Names of fields that are omitted here because their JSON is larger than ${FULL_KIB} KiB ` +
  `(${SUMMARY_KIB} KiB with \`view=summary\`). Get the record itself to read them.`;

/** Parameter of lists whose records can be large; spread it into `query`. */
export const viewQuery = {
  view: z
    .enum(LIST_VIEWS)
    .default('full')
    .meta({
      description:
        `\`summary\` omits fields larger than ${SUMMARY_KIB} KiB, \`full\` those larger than ` +
        `${FULL_KIB} KiB. \`omitted\` of each record names them.`,
    }),
};

const omitted = z.array(z.string()).meta({ id: 'OmittedFields', description: DESCRIPTION });

/**
 * Schema of a record in a list, a form of the whole record (openapi-variants.ts). The keys of `fields` are
 * optional in it.
 */
export function listedRecord<S extends z.ZodRawShape, M extends Mask<S>>(
  record: z.ZodObject<S>,
  fields: M,
  meta: { id: string; variantOf: string },
) {
  const optional = Object.fromEntries(
    Object.entries(record.shape).map(([name, schema]) => {
      return [name, name in fields && schema instanceof z.ZodType ? schema.optional() : schema];
    }),
  );
  return z.object({ ...optional, omitted }).meta(meta);
}

/** Every field of a record, with any value: what a list omits is null here. */
export type FieldsOf<R extends z.ZodType> = { [Key in keyof z.input<R>]: unknown };

/**
 * The record without its omitted fields. Name the type of its whole schema, so that the compiler notices a
 * field that the list lacks.
 */
export function presentListed<R extends z.ZodObject = never>(
  record: [R] extends [never] ? never : FieldsOf<R>,
  omitted: readonly string[],
): Record<string, unknown> {
  if (omitted.length === 0) return { ...record, omitted };
  return {
    ...Object.fromEntries(Object.entries(record).filter(([name]) => !omitted.includes(name))),
    omitted,
  };
}
