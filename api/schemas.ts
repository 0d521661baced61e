/** Schemas that many endpoints share. */
import * as z from 'zod';

import { utcTime } from '../contracts/instant.ts';

export { jsonObject } from '../contracts/json-object.ts';

/** Text with length limits in code points, as the interface counts characters. */
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
        const message = `must have at most ${max} characters, but has ${length}`;
        context.issues.push({ code: 'custom', input: context.value, message, params: { code: 'too_long' } });
      }
    })
    .meta({ ...(min > 0 ? { minLength: min } : {}), ...(max === undefined ? {} : { maxLength: max }) });
}

export const uuid = z.guid().meta({ format: 'uuid' });
/** In changes of what a person or a team holds. */
export const newOwner = uuid.optional().meta({
  description: 'Gives it to this person, with the secrets that it reads; for administrators.',
});
/** RFC 3339, UTC. */
export const timestamp = z.iso.datetime();
/** A user in a query. */
export const personOrMe = z
  .string()
  .regex(/^(?:me|[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12})$/, 'must be the id of a user, or me')
  .meta({ description: 'Id of a user, or `me`.' });
/** RFC 3339 with any offset, in the years 1 to 9999, for requests that keep the text as it is. */
export const writtenInstant = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => utcTime(text) !== null, 'must be in the years 1 to 9999');
/** The same in UTC. */
export const instant = writtenInstant.overwrite((text) => utcTime(text) ?? text).meta({ id: 'Instant' });
/** A number of PostgreSQL's `bigint`, which JavaScript has no exact number for; not negative. */
export const bigintText = z
  .string()
  .regex(/^\d{1,19}$/)
  .refine((digits) => BigInt(digits) <= 9_223_372_036_854_775_807n);
export const httpUrl = (max = 255) =>
  text({ max })
    .refine(
      (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
      'must be an http or https URL',
    )
    .meta({ format: 'uri' });

/** Email address with the limits of RFC 5321: 64 characters before the `@`, 254 in total. */
export const emailAddress = z
  .email()
  .max(254)
  .refine((value) => value.indexOf('@') <= 64, 'has more than 64 characters before the @')
  .refine(
    (value) =>
      value
        .slice(value.indexOf('@') + 1)
        .split('.')
        .every((label) => label.length <= 63 && !label.endsWith('-')),
    'has an invalid host name',
  );

export const userReference = z.object({ id: uuid, username: z.string() }).meta({ id: 'UserReference' });

/** Origin of a copy that was installed from the marketplace; null for other records. */
export const provenanceRecord = z
  .object({
    item_id: uuid,
    version: z.string(),
    digest: z.string(),
    publisher: userReference,
    installed_at: timestamp,
  })
  .meta({ id: 'Provenance', description: 'The marketplace item that this record is a copy of.' });

/** Of requests that only act. */
export const emptyBody = z.object({});
/** Path parameter `{id}`. */
export const idParams = z.object({ id: uuid });

/** Paging parameters of every list; spread them into `query`. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(200).default(50).meta({ description: 'Records per page.' }),
  cursor: z.string().optional().meta({ description: "Opaque value from the previous page's `Link` header." }),
};

/** One event of a `text/event-stream`. OpenAPI describes single events, although the response is a stream. */
export const serverSentEvent = z.object({
  id: z.string().optional(),
  event: z.string().optional(),
  data: z.string().meta({ description: 'JSON.' }),
});

/** Boolean query parameter: `true` or `false`. */
export const flag = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .meta({ jsonSchema: { type: 'boolean' } });

/** Problem document (RFC 9457) with a stable `code` and all errors of a body. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string().meta({ description: 'Stable identifier of the error, for use by clients.' }),
    request_id: z.string(),
    errors: z
      .array(
        z.looseObject({
          pointer: z.string(),
          code: z.string(),
          message: z.string(),
          line: z.int().optional().meta({ description: 'In a body of YAML, from 1; so is `column`.' }),
          column: z.int().optional(),
        }),
      )
      .optional(),
  })
  .loose()
  .meta({ id: 'Problem' });

function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) {
    count += 1;
  }
  return count;
}

/**
 * The `source` of events, which CloudEvents has as a URI-reference. Of what RFC 3986 does not allow, letters
 * beyond ASCII are taken, because senders have them.
 */
export const eventSource = text({ min: 1, max: 2_000 }).regex(
  /^(?:[!#$&-;=?-[\]_a-z~\u00a1-\uffff]|%[0-9A-Fa-f]{2})*$/,
  'must be a URI-reference such as https://shop.example/orders or /sensors/1: a blank is %20',
);
