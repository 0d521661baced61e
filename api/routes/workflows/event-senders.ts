/** Whose events reach a workflow, besides its owner's: docs/events.md#events-of-others. */
import * as z from 'zod';

import { getEventSenders, setEventSenders } from '../../../domain/registry/workflow-senders.ts';
import { getWorkflowForChange } from '../../../domain/registry/workflow-service.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { idParams, uuid } from '../../schemas.ts';

const TAGS = ['workflows'];
const MAX_SENDERS = 20;
const senders = z
  .object({ users: z.array(uuid).max(MAX_SENDERS).meta({ description: 'Ids of users.' }) })
  .meta({ id: 'EventSenders' });

export function eventSenderEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/event-senders',
      operationId: 'getEventSenders',
      summary: 'Get the users whose events reach the workflow',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: senders },
      errors: [403],
      handler: async (c) => {
        await c.em.transactional((em) => getWorkflowForChange(em, c.actor, c.params.id));
        return respond(c.params.id, await getEventSenders(c.em, c.params.id));
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/workflows/{id}/event-senders',
      operationId: 'setEventSenders',
      summary: 'Say whose events reach the workflow and the runs that its owner has of it',
      description:
        'Besides those of the owner. Each of these users has to share the source of the events ' +
        '(`shared_with` of an event source). Runs that listen already keep theirs.',
      tags: TAGS,
      role: 'builder',
      params: idParams,
      body: senders,
      responses: { 200: senders },
      errors: [403, 412],
      handler: async (c) => {
        const { id } = c.params;
        await getWorkflowForChange(c.em, c.actor, id);
        checkIfMatch(c.ctx, tagOf(id, await getEventSenders(c.em, id)));
        const users = [...new Set(c.body.users)];
        await setEventSenders(c.em, id, users);
        return respond(id, users);
      },
    }),
  ];
}

function respond(workflowId: string, users: string[]): EndpointResponse {
  return { status: 200, body: { users }, headers: { ETag: tagOf(workflowId, users) } };
}

function tagOf(workflowId: string, users: readonly string[]): string {
  return etag('event senders', workflowId, ...users.map((id) => id.toLowerCase()));
}
