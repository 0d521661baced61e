/** `/events`: docs/events-and-files.md#events. */
import * as z from 'zod';

import { badRequest } from '../../../domain/errors.ts';
import { acceptEvent } from '../../../domain/events/inbound.ts';
import { typePattern } from '../../../domain/events/type-filter.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { flag, timestamp, uuid } from '../../schemas.ts';
import { cloudEventSchema, readCloudEvent, structured } from './cloud-event-body.ts';
import { streamEvents } from './stream.ts';

const tags = ['events'];

const acceptedRecord = z
  .object({
    id: uuid,
    source: z.string(),
    event_id: z.string(),
    type: z.string(),
    received_at: timestamp,
    duplicate: z.boolean(),
  })
  .meta({ id: 'AcceptedEvent' });

export function eventEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/events',
      operationId: 'streamEvents',
      headers: ['Last-Event-ID'],
      summary: 'Stream events of all runs that the caller may see, as Server-Sent Events',
      description:
        'Each event is a CloudEvent, as in webhooks. The stream starts with new events, or after ' +
        '`Last-Event-ID`, an opaque position that heartbeats also carry. ' +
        'Events of human tasks are sent only to users who may also see the task.',
      tags,
      role: 'viewer',
      query: z.object({
        types: z
          .string()
          .max(2_000)
          .optional()
          .meta({
            description:
              'Event types, separated by commas, such as `io.cadenza.hitl` (and all types below it) ' +
              'or `*.faulted.v1`.',
          }),
        run_id: uuid.optional(),
        workflow_id: uuid.optional(),
        mine: flag
          .default(false)
          .meta({ description: "Only the caller's own runs and tasks, for admins who see all others too." }),
      }),
      responses: { 200: media({ 'text/event-stream': z.string() }) },
      handler: async (c) => {
        const types = (c.query.types ?? '')
          .split(',')
          .map((type) => type.trim())
          .filter(Boolean);
        const invalidType = types.find((type) => !typePattern.test(type));
        if (invalidType !== undefined) {
          throw badRequest('invalid_query', `types: ${invalidType} is not an event type`, [
            {
              pointer: 'types',
              code: 'invalid_value',
              message: 'must be an event type or a pattern of event types',
            },
          ]);
        }
        const { run_id, workflow_id, mine } = c.query;
        return streamEvents(deps, c, { types, run_id, workflow_id, mine });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/events',
      operationId: 'publishEvent',
      summary: 'Publish a CloudEvent',
      description:
        'Structured, or binary with `ce-` headers. Repeating an event (same `source` and `id` from the ' +
        'same ' +
        'caller) gives the same response with `duplicate: true`. Events are stored for 30 days. ' +
        'Nothing consumes them yet: `listen` tasks and event schedules are not available in this version.',
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
        const { id, received_at, duplicate } = await c.em.transactional((em) =>
          acceptEvent(em, c.actor, event),
        );
        return {
          status: 202,
          body: {
            id,
            source: event.source,
            event_id: event.id,
            type: event.type,
            received_at: new Date(received_at).toISOString(),
            duplicate,
          },
        };
      },
    }),
  ];
}
