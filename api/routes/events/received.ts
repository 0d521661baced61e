/** Events that were sent in, as their owner reads them. */
import * as z from 'zod';

import {
  getReceived,
  listReceived,
  type Accepted,
  type InboundCloudEvent,
  type ReceivedEvent,
} from '../../../domain/events/inbound.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { listedRecord, presentListed, type FieldsOf } from '../../listed.ts';
import { readPage, type ListOrder } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import { idParams, instant, pageQuery, personOrMe, text, timestamp, uuid } from '../../schemas.ts';
import { cloudEventSchema } from './cloud-event-body.ts';

const TAGS = ['events'];

export const acceptedRecord = z
  .object({
    id: uuid,
    source: z.string(),
    event_id: z.string(),
    type: z.string(),
    received_at: timestamp,
    duplicate: z.boolean(),
  })
  .meta({ id: 'AcceptedEvent' });

const receivedRecord = z
  .object({
    id: uuid,
    owner_id: uuid.meta({ description: 'A user or a team.' }),
    owner_name: personName,
    team_id: uuid.nullable(),
    source: z.string(),
    event_id: z.string(),
    type: z.string(),
    subject: z.string().nullable(),
    time: timestamp.nullable(),
    received_at: timestamp,
    client_id: z.string().nullable().meta({ description: 'The machine client that sent it.' }),
    hook_id: uuid.nullable().meta({ description: 'The inbound webhook by which it came.' }),
    run_id: uuid.nullable().meta({ description: 'The run that emitted it.' }),
    event: cloudEventSchema,
  })
  .meta({ id: 'ReceivedEvent' });
const listedEvent = listedRecord(
  receivedRecord,
  { event: true },
  { id: 'ListedReceivedEvent', variantOf: 'ReceivedEvent' },
);

const newestFirst: ListOrder<{ place: string; id: string }, readonly [string, string]> = {
  key: z.tuple([instant, z.guid()]),
  valuesOf: ({ place, id }) => [place, id],
};

export function receivedEventEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/events/received',
      operationId: 'listReceivedEvents',
      summary: "List the caller's events that were sent in or emitted, newest first",
      description:
        'They are kept for EVENT_RETENTION_DAYS. Admins may name another owner, builders of a team the ' +
        'team, but not both: the events of a team have no other owner.',
      tags: TAGS,
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        owner_id: personOrMe.optional(),
        team_id: uuid.optional(),
        source: text({ min: 1, max: 2_000 }).optional(),
        event_id: text({ min: 1, max: 1_000 }).optional(),
        type: text({ min: 1, max: 1_000 }).optional(),
        received_after: instant.optional(),
        received_before: instant.optional(),
      }),
      responses: { 200: z.array(listedEvent) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, newestFirst, (page, filter) =>
          listReceived(c.em, c.actor, filter, page),
        );
        const body = items.map(presentListedEvent);
        return { status: 200, body, headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/events/received/{id}',
      operationId: 'getReceivedEvent',
      summary: 'Get an event that was sent in or emitted',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: receivedRecord },
      handler: async (c) => ({
        status: 200,
        body: present(await getReceived(c.em, c.actor, c.params.id)),
      }),
    }),
  ];
}

export function presentAccepted(
  { id, received_at: at, duplicate }: Accepted,
  event: InboundCloudEvent,
): z.input<typeof acceptedRecord> {
  const { source, type } = event;
  return { id, source, event_id: event.id, type, received_at: new Date(at).toISOString(), duplicate };
}

function presentListedEvent(row: ReceivedEvent): Record<string, unknown> {
  return presentListed<typeof receivedRecord>(present(row), row.event === null ? ['event'] : []);
}

function present({ at, received_at: receivedAt, ...row }: ReceivedEvent): FieldsOf<typeof receivedRecord> {
  const { id, owner_id, team_id, source, event_id, type, subject, client_id, hook_id, run_id, event } = row;
  return {
    id,
    owner_id,
    team_id,
    source,
    event_id,
    type,
    subject,
    time: at === null ? null : new Date(at).toISOString(),
    received_at: new Date(receivedAt).toISOString(),
    client_id,
    hook_id,
    run_id,
    event,
  };
}
