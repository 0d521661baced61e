/** Reads a CloudEvent from a request in structured or binary mode (CloudEvents HTTP binding 1.0.2). */
import type { Context } from 'koa';
import * as z from 'zod';

import { isRecord } from '../../../contracts/is-record.ts';
import { AppError, badRequest, invalid } from '../../../domain/errors.ts';
import type { InboundCloudEvent } from '../../../domain/events/inbound.ts';
import { BODY_LIMIT_BYTES, decodeText, parseJson, readRawBody, type RawBody } from '../../middleware/body.ts';
import { parseBody } from '../../middleware/guard.ts';
import { text, writtenInstant } from '../../schemas.ts';

export const structured = 'application/cloudevents+json';

/** Every attribute is validated against several types, so their number is limited. */
const MAX_ATTRIBUTES = 100;
const extension = z
  .union([z.string(), z.int(), z.boolean()], 'must be text, an integer or a boolean')
  .nullable();

export const cloudEventSchema = z
  .object({
    specversion: z.literal('1.0'),
    id: text({ min: 1, max: 1_000 }),
    source: text({ min: 1, max: 2_000 }),
    type: text({ min: 1, max: 1_000 }),
    subject: text({ min: 1, max: 1_000 }).optional(),
    time: writtenInstant.optional(),
    datacontenttype: text({ min: 1, max: 255 }).optional(),
    dataschema: text({ min: 1, max: 2_000 }).optional(),
    data: z.unknown().optional(),
    data_base64: z.base64().optional(),
  })
  .catchall(extension)
  .superRefine((event, context) => {
    for (const name of Object.keys(event)) {
      if (name !== 'data_base64' && !/^[a-z0-9]{1,40}$/.test(name)) {
        context.addIssue({
          code: 'custom',
          path: [name],
          message: 'is not a valid attribute name: use lower-case letters and digits',
        });
      }
    }
    if (event.data !== undefined && event.data_base64 !== undefined) {
      context.addIssue({ code: 'custom', path: ['data_base64'], message: 'cannot be combined with data' });
    }
  })
  .meta({ id: 'CloudEvent' });

/** @throws 400, 413, 415, 422 */
export async function readCloudEvent(ctx: Context): Promise<InboundCloudEvent> {
  const raw = await readRawBody(ctx, BODY_LIMIT_BYTES);
  const event =
    raw.type === structured
      ? raw.turn.measure(() => parseJson(decodeText(raw.bytes)))
      : fromHeaders(ctx, raw);
  const count = isRecord(event) ? Object.keys(event).length : 0;
  if (count > MAX_ATTRIBUTES)
    throw invalid([
      {
        pointer: '',
        code: 'too_many_attributes',
        message: `an event may have at most ${MAX_ATTRIBUTES} attributes, but this one has ${count}`,
      },
    ]);
  // Matches cloudEventSchema.
  return parseBody({ bodies: { [structured]: cloudEventSchema } }, event, structured) as InboundCloudEvent;
}

function fromHeaders(ctx: Context, raw: RawBody): Record<string, unknown> {
  if (ctx.get('ce-specversion') === '' || raw.type === 'application/cloudevents-batch+json') {
    throw new AppError(
      'unsupported_media_type',
      'unsupported_media_type',
      `Send one CloudEvent as ${structured}, or with its attributes in ce- headers.`,
      {
        headers: { Accept: structured },
      },
    );
  }
  const attributes = Object.entries(ctx.req.headers).flatMap(([name, value]) =>
    name.startsWith('ce-') && typeof value === 'string' ? [[name.slice(3), decoded(value)]] : [],
  );
  return {
    ...Object.fromEntries(attributes.filter(([name]) => name !== 'data' && name !== 'data_base64')),
    ...(raw.type === '' ? {} : { datacontenttype: ctx.get('content-type') }),
    ...dataOf(raw),
  };
}

/** Decodes an attribute header (section 3.1.3.2): percent-encoded, and quoted by older senders. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(/^".*"$/.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value);
  } catch {
    throw badRequest('malformed_header', 'A ce- header is not percent-encoded UTF-8.');
  }
}

function dataOf(raw: RawBody): Record<string, unknown> {
  if (raw.bytes.length === 0) return {};
  if (/^(application|text)\/([\w.-]+\+)?json$/.test(raw.type))
    return { data: parseJson(decodeText(raw.bytes)) };
  if (raw.type.startsWith('text/')) return { data: decodeText(raw.bytes) };
  return { data_base64: raw.bytes.toString('base64') };
}
