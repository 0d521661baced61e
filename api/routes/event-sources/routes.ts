/** Event sources: docs/events.md#who-may-send-a-source. */
import * as z from 'zod';

import { heldBy } from '../../../domain/audit/write.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import { holderOf } from '../../../domain/auth/ownership.ts';
import {
  checkForeignSource,
  createSource,
  deleteSource,
  getSource,
  listSources,
  moveSource,
  updateSource,
  type EventSource,
  type SourceFields,
} from '../../../domain/events/sources.ts';
import { checkQuota } from '../../../domain/quotas/check.ts';
import { destinationOf, moveNote, teamFor } from '../../../domain/teams/holding.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import {
  eventSource,
  idParams,
  newOwner,
  pageQuery,
  personOrMe,
  text,
  timestamp,
  uuid,
} from '../../schemas.ts';

const TAGS = ['events'];

/** Of a new event source. */
export const sourceFields = {
  source: eventSource.meta({ description: '`source` of the events, as it is sent.' }),
  client_id: uuid.nullish().meta({ description: 'Only this machine client of yours may send it.' }),
  user_id: uuid
    .nullish()
    .meta({ description: 'Only this user may send it; another user only what they share with you.' }),
  shared_with: z.array(uuid).max(100).optional().meta({
    description: 'Users whose workflows may get your events of it.',
  }),
  description: text({ max: 1_000 }).nullish(),
};
const newSource = z.object(sourceFields);

/** With its defaults, and ids as the record shows them. */
export const fieldsOfNewSource = (body: z.output<typeof newSource>): SourceFields => ({
  source: body.source,
  client_id: body.client_id ?? null,
  user_id: body.user_id?.toLowerCase() ?? null,
  shared_with: (body.shared_with ?? []).map((id) => id.toLowerCase()),
  description: body.description ?? null,
});

const sourceRecord = z
  .object({
    id: uuid,
    owner_id: uuid,
    owner_name: personName,
    team_id: uuid.nullable(),
    source: z.string(),
    client_id: z.string().nullable(),
    user_id: uuid.nullable(),
    user_name: personName,
    shared_with: z.array(uuid),
    description: z.string().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'EventSource' });

export function eventSourceEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/event-sources',
      operationId: 'listEventSources',
      summary: "List the caller's event sources and those of their teams, newest first; admins see all",
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, owner_id: personOrMe.optional(), team_id: uuid.optional() }),
      responses: { 200: z.array(sourceRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listSources(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/event-sources',
      operationId: 'createEventSource',
      scope: 'person',
      summary: 'Bind a source to a sender, or share its events',
      description: 'Only a person may do this (403 `person_required`), so that no client unbinds itself.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      body: newSource.extend({
        team_id: uuid.nullish().meta({ description: 'A team, to whose events it applies.' }),
      }),
      record: sourceRecord,
      responses: { 201: sourceRecord },
      errors: [403, 409],
      handler: async (c) => {
        checkPerson(claimsOf(c.ctx));
        const { body } = c;
        checkForeignSource(body.source, deps.env.BASE_URL);
        const team_id = await teamFor(c.em, c.actor, body.team_id);
        const id = await createSource(c.em, c.actor, { ...fieldsOfNewSource(body), team_id });
        await checkQuota(c.em, deps.env, 'event_sources', team_id ?? c.actor.id);
        const created = await getSource(c.em, c.actor, id);
        return {
          status: 201,
          body: present(created),
          headers: { Location: `${c.baseUrl}/event-sources/${id}`, ETag: tagOf(created) },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/event-sources/{id}',
      operationId: 'getEventSource',
      summary: 'Get an event source',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: sourceRecord },
      handler: async (c) => {
        const found = await getSource(c.em, c.actor, c.params.id);
        return { status: 200, body: present(found), headers: { ETag: tagOf(found) } };
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/event-sources/{id}',
      operationId: 'updateEventSource',
      scope: 'person',
      summary: 'Change an event source',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: z
        .object(sourceFields)
        .partial()
        .extend({
          team_id: uuid.nullish().meta({ description: 'Gives it to a team, or with null to the caller.' }),
          owner_id: newOwner,
        }),
      record: sourceRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: sourceRecord },
      errors: [403, 409, 412],
      handler: async (c) => {
        const before = await getSource(c.em, c.actor, c.params.id, { lock: true });
        checkPerson(claimsOf(c.ctx));
        checkIfMatch(c.ctx, tagOf(before));
        const { body } = c;
        if (body.source !== undefined) checkForeignSource(body.source, deps.env.BASE_URL);
        const to = await destinationOf(c.em, c.actor, before, body);
        const isMoved = to !== null;
        const source = body.source ?? before.source;
        const held = isMoved ? await moveSource(c.em, c.actor, before, { to, named: source }) : before;
        await updateSource(c.em, held, {
          source,
          client_id: body.client_id === undefined ? before.client_id : body.client_id,
          user_id: body.user_id === undefined ? held.user_id : body.user_id,
          shared_with: body.shared_with ?? before.shared_with,
          description: body.description === undefined ? before.description : body.description,
        });
        if (isMoved) {
          c.audit.note(moveNote(before, held));
          await checkQuota(c.em, deps.env, 'event_sources', holderOf(held), { isMoved });
        }
        const changed = await getSource(c.em, c.actor, c.params.id);
        return { status: 200, body: present(changed), headers: { ETag: tagOf(changed) } };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/event-sources/{id}',
      operationId: 'deleteEventSource',
      scope: 'person',
      summary: 'Delete an event source: everybody who may send events of the owner may send it again',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      responses: { 204: null },
      errors: [403, 412],
      handler: async (c) => {
        const found = await getSource(c.em, c.actor, c.params.id, { lock: true });
        checkPerson(claimsOf(c.ctx));
        checkIfMatch(c.ctx, tagOf(found));
        c.audit.note(heldBy(found.team_id));
        await deleteSource(c.em, found);
        return { status: 204 };
      },
    }),
  ];
}

function tagOf({ id, updated_at: at }: EventSource): string {
  return etag('event source', id, new Date(at));
}

function present(row: EventSource): z.input<typeof sourceRecord> {
  const { created_at: createdAt, updated_at: updatedAt, ...rest } = row;
  return {
    ...rest,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  };
}
