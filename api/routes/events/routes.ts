/** `/events`: docs/events-and-files.md#events. */
import * as z from 'zod';

import { badRequest } from '../../../domain/errors.ts';
import { FIRST_PARTY_CLIENT } from '../../../domain/auth/access-token.ts';
import { acceptEvents } from '../../../domain/events/inbound.ts';
import { checkSources } from '../../../domain/events/sources.ts';
import { teamFor } from '../../../domain/teams/holding.ts';
import { TYPE_PATTERN } from '../../../domain/events/type-filter.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { flag, uuid } from '../../schemas.ts';
import {
  BATCHED,
  cloudEventBatch,
  cloudEventSchema,
  readCloudEvents,
  STRUCTURED,
} from './cloud-event-body.ts';
import { acceptedRecord, presentAccepted, receivedEventEndpoints } from './received.ts';
import { streamEvents } from './stream.ts';

const TAGS = ['events'];

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
      tags: TAGS,
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
        const invalidType = types.find((type) => !TYPE_PATTERN.test(type));
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
      summary: 'Send CloudEvents in, for yourself or for a team',
      description:
        'Structured, as a batch of at most 500 (all are taken, or none), or binary with `ce-` headers. ' +
        'Each is stored once for its `source` and `id`; a repeated one has `duplicate: true`.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      query: z.object({
        team_id: uuid.optional().meta({ description: 'A team whose workflows get the events.' }),
      }),
      rawBody: true,
      transaction: false,
      consumes: [STRUCTURED, BATCHED, '*/*'],
      bodies: { [STRUCTURED]: cloudEventSchema, [BATCHED]: cloudEventBatch },
      responses: { 202: z.union([acceptedRecord, z.array(acceptedRecord)]) },
      errors: [403],
      handler: async (c) => {
        const { team_id: teamId } = c.query;
        const { events, isBatch } = await readCloudEvents(c.ctx);
        const accepted = await c.em.transactional(async (em) => {
          const sender = {
            owner_id: (await teamFor(em, c.actor, teamId)) ?? c.actor.id,
            user_id: c.actor.id,
            client_id: clientOf(claimsOf(c.ctx)),
          };
          const pointer = (index: number): string => `${isBatch ? `/${index}` : ''}/source`;
          const sources = events.map(({ source }) => source);
          await checkSources(em, sender, sources, { baseUrl: deps.env.BASE_URL, pointer });
          await c.audit.write(em, {
            data: { events: events.length, ...(teamId === undefined ? {} : { team_id: teamId }) },
          });
          return acceptEvents(em, sender, events);
        });
        const records = events.flatMap((event, index) => {
          const row = accepted[index];
          return row ? [presentAccepted(row, event)] : [];
        });
        return { status: 202, body: isBatch ? records : records[0] };
      },
    }),
    ...receivedEventEndpoints(),
  ];
}

/** The client that sends, if it is none of the person's own sessions. */
function clientOf({ client_id: id }: { client_id: string }): string | null {
  return id === FIRST_PARTY_CLIENT ? null : id;
}
