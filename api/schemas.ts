/** Pieces of schemas that many endpoints share. */
import * as z from 'zod';

export { jsonObject } from '../contracts/json-object.ts';

/** Length in characters (code points), as the specification counts. */
export function text(limits: { min?: number; max?: number } = {}) {
  const { min = 0, max } = limits;
  return z
    .string()
    .check((context) => {
      const length = codePoints(context.value);
      if (length < min) {
        const message = min === 1 ? 'must not be empty' : `must have at least ${min} characters`;
        context.issues.push({ code: 'custom', input: context.value, message, params: { code: 'too_short' } });
      }
      if (max !== undefined && length > max) {
        const message = `must have at most ${max} characters, has ${length}`;
        context.issues.push({ code: 'custom', input: context.value, message, params: { code: 'too_long' } });
      }
    })
    .meta({ ...(min > 0 ? { minLength: min } : {}), ...(max === undefined ? {} : { maxLength: max }) });
}

export const uuid = z.guid().meta({ format: 'uuid' });
/** RFC 3339, UTC. */
export const timestamp = z.iso.datetime();
/** RFC 3339 with any offset, in queries. */
export const instant = z.iso.datetime({ offset: true });
export const httpUrl = (max = 255) =>
  text({ max }).refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol), 'must be an http or https URL').meta({ format: 'uri' });

/** RFC 5321: 64 characters before the `@`, 254 in all. */
export const emailAddress = z
  .email()
  .max(254)
  .refine((value) => value.indexOf('@') <= 64, 'has more than 64 characters before the @')
  .refine((value) => value.slice(value.indexOf('@') + 1).split('.').every((label) => label.length <= 63 && !label.endsWith('-')), 'has no valid host name');

/** Of a copy that was installed from the marketplace; null for what was made here. */
export const provenanceRecord = z
  .object({ item_id: uuid, version: z.string(), digest: z.string(), publisher: z.object({ id: uuid, username: z.string() }), installed_at: timestamp })
  .meta({ id: 'Provenance', description: 'The marketplace item that it is a copy of.' });

/** `{id}` in a path. */
export const idParams = z.object({ id: uuid });

/** Paging of every list: take these into `query`. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(200).default(50).meta({ description: 'Records on a page.' }),
  cursor: z.string().optional().meta({ description: 'Opaque: from the `Link` header of the page before.' }),
};

/** One event of a `text/event-stream`: the document describes events, what is sent is a stream. */
export const serverSentEvent = z.object({
  id: z.string().optional(), event: z.string().optional(), data: z.string().meta({ description: 'JSON.' }),
});

/** `true` or `false` in a query. */
export const flag = z.enum(['true', 'false']).transform((value) => value === 'true').meta({ jsonSchema: { type: 'boolean' } });

/** RFC 9457, with our stable `code` and all errors of a body at once. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string().meta({ description: 'A stable word that a client can switch on.' }),
    request_id: z.string(),
    errors: z.array(z.looseObject({ pointer: z.string(), code: z.string(), message: z.string() })).optional(),
  })
  .loose()
  .meta({ id: 'Problem' });

export function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) {
    count += 1;
  }
  return count;
}
