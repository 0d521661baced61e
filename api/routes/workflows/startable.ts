/** What somebody may start: all that runners see of a workflow (docs/teams.md#runners). */
import * as z from 'zod';

import { listStartable } from '../../../domain/registry/workflow-lists.ts';
import { getStartable } from '../../../domain/runs/runnable.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { flag, idParams, jsonObject, pageQuery, uuid } from '../../schemas.ts';

const TAGS = ['workflows'];

const startableRecord = z
  .object({
    id: uuid,
    name: z.string(),
    input_schema: z
      .union([jsonObject, z.boolean()])
      .nullable()
      .meta({ description: 'Lists leave out a schema of more than 16 KiB.' }),
  })
  .meta({ id: 'StartableWorkflow' });

export function startableEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/startable-workflows',
      operationId: 'listStartableWorkflows',
      summary: 'List the workflows that the caller may start, newest first',
      description: 'As a builder, or as one of their `runners`. `POST /workflows/{id}/run` starts one.',
      tags: TAGS,
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        q: z.string().min(1).max(255).optional().meta({ description: 'Text in the name.' }),
        granted: flag.optional().meta({ description: 'Only those of which the caller is a runner.' }),
      }),
      responses: { 200: z.array(startableRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listStartable(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items, headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/startable-workflows/{id}',
      operationId: 'getStartableWorkflow',
      summary: 'Get the name and input schema of a workflow that the caller may start',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: startableRecord },
      handler: async (c) => {
        const { workflow } = await getStartable(c.em, c.actor, c.params.id);
        const { id, name, input_schema } = workflow;
        return { status: 200, body: { id, name, input_schema } };
      },
    }),
  ];
}
