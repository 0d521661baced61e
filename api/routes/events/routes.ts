/** `/events`: interface-decisions §8. */
import * as z from 'zod';

import { badRequest } from '../../../domain/errors.ts';
import { acceptEvent } from '../../../domain/events/inbound.ts';
import { typePattern } from '../../../domain/events/type-filter.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { timestamp, uuid } from '../../schemas.ts';
import { cloudEventSchema, readCloudEvent, structured } from './cloud-event-body.ts';
import { streamEvents } from './stream.ts';

const tags = ['events'];

const acceptedRecord = z
  .object({ id: uuid, source: z.string(), event_id: z.string(), type: z.string(), received_at: timestamp, duplicate: z.boolean() })
  .meta({ id: 'AcceptedEvent' });

export function eventEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/events',
      operationId: 'streamEvents',
      summary: 'Events of all runs that the caller may see, as Server-Sent Events',
      description:
        'Each is a CloudEvent, as webhooks carry it. Starts with what comes from now on, or after `Last-Event-ID`: an opaque place, which also heartbeats carry. ' +
        'Events of human tasks go to those who may see the task too.',
      tags,
      role: 'viewer',
      query: z.object({
        types: z.string().max(2_000).optional().meta({ description: 'With commas: types of events, such as `io.cadenza.hitl` (and all that continue it) or `*.faulted.v1`.' }),
      }),
      responses: { 200: media({ 'text/event-stream': z.string() }) },
      handler: async (c) => {
        const types = (c.query.types ?? '').split(',').map((type) => type.trim()).filter(Boolean);
        const wrong = types.find((type) => !typePattern.test(type));
        if (wrong !== undefined) {
          throw badRequest('invalid_query', `types: ${wrong} is no type of events`, [{ pointer: 'types', code: 'invalid_value', message: 'is no type of events, and no pattern of one' }]);
        }
        return streamEvents(deps, c, types);
      },
    }),
    endpoint({
      method: 'POST',
      path: '/events',
      operationId: 'publishEvent',
      summary: 'Hand in a CloudEvent',
      description:
        'Structured, or binary with `ce-` headers. An event that the caller sent before (same `source` and `id`) is answered the same, with `duplicate: true`. ' +
        'Events are stored for 30 days. Nothing takes them yet: `listen` tasks and event schedules are not available in this version.',
      tags,
      role: 'builder',
      rawBody: true,
      transaction: false,
      consumes: [structured, '*/*'],
      bodies: { [structured]: cloudEventSchema },
      responses: { 202: acceptedRecord },
      handler: async (c) => {
        void c.query;
        const event = await readCloudEvent(c.ctx);
        const { id, received_at, duplicate } = await c.em.transactional((em) => acceptEvent(em, c.actor, event));
        return { status: 202, body: { id, source: event.source, event_id: event.id, type: event.type, received_at: new Date(received_at).toISOString(), duplicate } };
      },
    }),
  ];
}
