/** JSON Schemas for editors of other programs. */
import * as z from 'zod';

import { definitionSchema } from '../../../language/definition/json-schema.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';

export function schemaEndpoints(): Endpoint[] {
  let schema: string | null = null;
  return [
    endpoint({
      method: 'GET',
      path: '/schemas/workflow.json',
      operationId: 'getWorkflowSchema',
      summary: 'Get the JSON Schema of workflow definitions, for editors',
      tags: ['workflows'],
      role: 'public',
      responses: { 200: media({ 'application/schema+json': z.string() }) },
      handler: async (c) => ({
        status: 200,
        type: 'application/schema+json',
        body: (schema ??= JSON.stringify(definitionSchema(`${c.baseUrl}/schemas/workflow.json`))),
        headers: { 'Cache-Control': 'public, max-age=3600' },
      }),
    }),
  ];
}
