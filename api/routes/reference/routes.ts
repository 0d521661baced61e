import * as z from 'zod';

import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { createOpenApi } from '../../openapi.ts';

/** `endpoints` is a function because the document also covers this endpoint. */
export function referenceEndpoints(
  deps: Pick<AppDeps, 'env'>,
  endpoints: () => readonly Endpoint[],
): Endpoint[] {
  let document: object | null = null;
  return [
    endpoint({
      method: 'GET',
      path: '/openapi.json',
      operationId: 'getOpenApi',
      summary: 'Get the API as an OpenAPI 3.1 document',
      tags: ['operations'],
      role: 'public',
      responses: { 200: z.looseObject({ openapi: z.string() }) },
      handler: async () => ({
        status: 200,
        body: (document ??= createOpenApi(endpoints(), deps.env.BASE_URL)),
      }),
    }),
  ];
}
