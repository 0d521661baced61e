/** Absences and deputies: docs/human-tasks.md#absence. */
import * as z from 'zod';

import { createAbsence, endAbsence, listAbsences, type Absence } from '../../../domain/auth/absences.ts';
import { checkStepUp } from '../../../domain/auth/clients.ts';
import { forbidden } from '../../../domain/errors.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { flag, idParams, instant, pageQuery, text, timestamp, uuid } from '../../schemas.ts';

const TAGS = ['users'];
const person = z.object({ id: uuid, display_name: z.string() });

const absenceRecord = z
  .object({
    id: uuid,
    user: person.meta({ description: 'Who is absent.' }),
    deputy: person.meta({ description: 'Who decides their human tasks meanwhile.' }),
    from: timestamp,
    until: timestamp,
    note: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Absence' });

export function absenceEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/absences',
      operationId: 'listAbsences',
      summary: 'List the absences of the caller, and those in which they are the deputy, newest first',
      description: 'Admins see those of all users.',
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, user_id: uuid.optional(), current: flag.optional() }),
      responses: { 200: z.array(absenceRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listAbsences(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/absences',
      operationId: 'createAbsence',
      summary: 'Name a deputy for a period, who decides your human tasks meanwhile',
      description:
        'The deputy needs the role approver, and acts as you where you are the assignee or a candidate. ' +
        'It is one step: the deputy of a deputy gets nothing. `user_id` is for admins. ' +
        'Needs a log-in at most 5 minutes old (401 `login_too_old`).',
      tags: TAGS,
      role: 'approver',
      body: z.object({
        user_id: uuid.optional(),
        deputy: text({ min: 1, max: 255 }).meta({ description: 'A user, by id or username.' }),
        from: instant.optional().meta({ description: 'Default: now.' }),
        until: instant,
        note: text({ max: 500 }).nullish(),
      }),
      responses: { 201: absenceRecord },
      errors: [403, 409],
      handler: async (c) => {
        // What a client does for a user never gives away that user's decisions.
        if (c.actor.client !== undefined)
          throw forbidden('Log in yourself to name a deputy.', 'person_required');
        checkStepUp(claimsOf(c.ctx), c.actor);
        const { user_id: userId = null, deputy, from, until, note = null } = c.body;
        const absence = await createAbsence(c.em, c.actor, {
          userId,
          deputy,
          from: from === undefined ? new Date() : new Date(from),
          until: new Date(until),
          note,
        });
        return { status: 201, body: present(absence) };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/absences/{id}',
      operationId: 'endAbsence',
      summary: 'End an absence now: you are back, or cannot be the deputy any more',
      tags: TAGS,
      role: 'approver',
      params: idParams,
      responses: { 204: null },
      handler: async (c) => {
        await endAbsence(c.em, c.actor, c.params.id);
        return { status: 204 };
      },
    }),
  ];
}

function present(absence: Absence): z.input<typeof absenceRecord> {
  const time = (at: Date): string => new Date(at).toISOString();
  return {
    id: absence.id,
    user: { id: absence.user_id, display_name: absence.user_name },
    deputy: { id: absence.deputy_id, display_name: absence.deputy_name },
    from: time(absence.from_at),
    until: time(absence.until_at),
    note: absence.note,
    created_at: time(absence.created_at),
  };
}
