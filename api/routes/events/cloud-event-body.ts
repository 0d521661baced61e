/** Reads CloudEvents from a request in structured, batch or binary mode (CloudEvents HTTP binding 1.0.2). */
import type { Context } from 'koa';
import * as z from 'zod';

import { shortened } from '../../../contracts/cut-text.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { AppError, badRequest, invalid, MAX_LISTED_ERRORS, type FieldError } from '../../../domain/errors.ts';
import { identityProblem } from '../../../domain/events/identity.ts';
import type { InboundCloudEvent } from '../../../domain/events/inbound.ts';
import {
  BODY_LIMIT_BYTES,
  decodeText,
  isJsonType,
  parseJson,
  readRawBody,
  type RawBody,
} from '../../middleware/body.ts';
import { parseBody } from '../../middleware/guard.ts';
import { eventSource, text, writtenInstant } from '../../schemas.ts';

export const STRUCTURED = 'application/cloudevents+json';
export const BATCHED = 'application/cloudevents-batch+json';
const MAX_BATCH = 500;
const MAX_SHOWN = 100;

/** Every attribute is validated against several types, so their number is limited. */
const MAX_ATTRIBUTES = 100;
const extension = z
  .union([z.string(), z.int(), z.boolean()], 'must be text, an integer or a boolean')
  .nullable();

export const cloudEventSchema = z
  .object({
    specversion: z.literal('1.0'),
    id: text({ min: 1, max: 1_000 }),
    source: eventSource,
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
    const tooLong = identityProblem(event);
    if (tooLong !== null)
      context.addIssue({ code: 'custom', path: [tooLong.attribute], message: tooLong.message });
    if (event.data !== undefined && event.data_base64 !== undefined) {
      context.addIssue({ code: 'custom', path: ['data_base64'], message: 'cannot be combined with data' });
    }
  })
  .meta({ id: 'CloudEvent' });

export const cloudEventBatch = z.array(cloudEventSchema).max(MAX_BATCH);

/** @returns the events, and whether they came as a batch. @throws 400, 413, 415, 422 */
export async function readCloudEvents(
  ctx: Context,
): Promise<{ events: InboundCloudEvent[]; isBatch: boolean }> {
  const raw = await readRawBody(ctx, BODY_LIMIT_BYTES);
  const isBatch = raw.type === BATCHED;
  if (!isBatch && raw.type !== STRUCTURED) {
    return { events: [checkEvent(fromHeaders(ctx, raw))], isBatch };
  }
  const body = raw.turn.measure(() => parseJson(decodeText(raw.bytes)));
  const events = raw.turn.measure(() => (isBatch ? checkBatch(body) : [checkEvent(body)]));
  return { events, isBatch };
}

function checkEvent(event: unknown): InboundCloudEvent {
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
  return parseBody({ bodies: { [STRUCTURED]: cloudEventSchema } }, event, STRUCTURED) as InboundCloudEvent;
}

/** All events of a batch are taken, or none. The pointers of errors begin with the event's index. */
function checkBatch(body: unknown): InboundCloudEvent[] {
  if (!Array.isArray(body))
    throw invalid([{ pointer: '', code: 'invalid_type', message: 'a batch is an array of events' }]);
  if (body.length > MAX_BATCH) {
    const message = `a batch may have at most ${MAX_BATCH} events, but this one has ${body.length}`;
    throw invalid([{ pointer: '', code: 'too_many_events', message }]);
  }
  const errors: FieldError[] = [];
  const events: InboundCloudEvent[] = [];
  for (const [index, event] of body.entries()) {
    try {
      events.push(checkEvent(event));
    } catch (error) {
      if (!(error instanceof AppError) || error.errors === undefined) throw error;
      errors.push(...error.errors.map((found) => ({ ...found, pointer: `/${index}${found.pointer}` })));
      if (errors.length > MAX_LISTED_ERRORS) break;
    }
  }
  if (errors.length > 0) throw invalid(errors);
  return events;
}

function fromHeaders(ctx: Context, raw: RawBody): Record<string, unknown> {
  if (ctx.get('ce-specversion') === '') {
    if (Object.keys(ctx.req.headers).some((name) => name.startsWith('ce-'))) {
      const message = 'is required: send it as the header ce-specversion';
      throw invalid([{ pointer: '/specversion', code: 'required', message }]);
    }
    throw new AppError(
      'unsupported_media_type',
      'unsupported_media_type',
      `Send a CloudEvent as ${STRUCTURED} or with its attributes in ce- headers, several as ${BATCHED}.`,
      {
        headers: { Accept: `${STRUCTURED}, ${BATCHED}` },
      },
    );
  }
  const attributes = Object.entries(ctx.req.headers).flatMap(([name, value]) =>
    name.startsWith('ce-') && typeof value === 'string' ? [[name.slice(3), decoded(name, value)]] : [],
  );
  return {
    ...Object.fromEntries(attributes.filter(([name]) => name !== 'data' && name !== 'data_base64')),
    ...(raw.type === '' ? {} : { datacontenttype: ctx.get('content-type') }),
    ...dataOf(raw),
  };
}

/** Decodes an attribute header (section 3.1.3.2): percent-encoded, and quoted by older senders. */
function decoded(name: string, value: string): string {
  try {
    return decodeURIComponent(/^".*"$/.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value);
  } catch {
    throw badRequest(
      'malformed_header',
      `The header ${shortened(name, MAX_SHOWN)} must be percent-encoded UTF-8, ` +
        `but is "${shortened(value, MAX_SHOWN)}": write a percent sign as %25.`,
    );
  }
}

function dataOf(raw: RawBody): Record<string, unknown> {
  if (raw.bytes.length === 0) return {};
  if (isJsonType(raw.type)) return { data: parseJson(decodeText(raw.bytes)) };
  if (raw.type.startsWith('text/')) return { data: decodeText(raw.bytes) };
  return { data_base64: raw.bytes.toString('base64') };
}
