/** JSON Schemas for editors of other programs. */
import { createHash } from 'node:crypto';

import { anonymous } from '../../../domain/auth/actor.ts';
import { agentInputs } from '../../../domain/registry/agent-inputs.ts';
import { definitionSchema } from '../../../language/definition/json-schema.ts';
import { etag, isCurrent } from '../../conditional.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { jsonObject } from '../../schemas.ts';

const TYPE = 'application/schema+json';
const schemaRecord = jsonObject.meta({ id: 'WorkflowSchema' });

export function schemaEndpoints(): Endpoint[] {
  let shared: Buffer | null = null;
  return [
    endpoint({
      method: 'GET',
      path: '/schemas/workflow.json',
      operationId: 'getWorkflowSchema',
      summary: 'Get the JSON Schema of workflow definitions, for editors',
      description:
        'With a token it also has the names and inputs of the agents that the caller can use: 200, ' +
        'their own first, with schemas of at most 16 KiB each and 512 KiB together.',
      tags: ['workflows'],
      role: 'viewer',
      anonymousToo: true,
      headers: ['If-None-Match'],
      responses: { 200: media({ [TYPE]: schemaRecord }), 304: null },
      handler: async (c) => {
        const id = `${c.baseUrl}/schemas/workflow.json`;
        const isAnonymous = c.actor === anonymous;
        const body = isAnonymous
          ? (shared ??= bytesOf(definitionSchema(id)))
          : bytesOf(definitionSchema(id, await agentInputs(c.em, c.actor)));
        const tag = etag(createHash('sha256').update(body).digest('hex'));
        const headers = {
          ETag: tag,
          Vary: 'Authorization, Cookie',
          'Cache-Control': isAnonymous ? 'public, max-age=3600' : 'private, no-cache',
        };
        if (isCurrent(c.ctx, tag)) return { status: 304, headers };
        return { status: 200, type: TYPE, body, headers };
      },
    }),
  ];
}

const bytesOf = (schema: unknown): Buffer => Buffer.from(JSON.stringify(schema));
