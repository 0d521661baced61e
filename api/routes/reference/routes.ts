import * as z from 'zod';

import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { API_VERSION, createOpenApi } from '../../openapi.ts';

/** `endpoints` is a function because the document also covers this endpoint. */
export function referenceEndpoints(
  deps: Pick<AppDeps, 'env' | 'consoleFolder'>,
  endpoints: () => readonly Endpoint[],
): Endpoint[] {
  let document: object | null = null;
  return [
    rootEndpoint(deps),
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

const rootRecord = z
  .object({
    name: z.literal('Cadenza'),
    version: z.string().meta({ description: 'Of the API, as in the OpenAPI document.' }),
    links: z.object({
      openapi: z.string(),
      docs: z.string(),
      console: z.string().nullable(),
      health: z.string(),
      readiness: z.string(),
    }),
  })
  .meta({ id: 'Root' });

/** For programs and people who open the bare address. Browsers are sent to the console, if there is one. */
function rootEndpoint({ env, consoleFolder }: Pick<AppDeps, 'env' | 'consoleFolder'>): Endpoint {
  const link = (path: string): string => `${env.BASE_URL}${path}`;
  return endpoint({
    method: 'GET',
    path: '/',
    operationId: 'getRoot',
    summary: 'Get where the document of the API, its reference, the console and the health checks are',
    description: 'A browser (`Accept: text/html`) is sent to the console.',
    tags: ['operations'],
    role: 'public',
    responses: { 200: rootRecord },
    handler: async () => ({
      status: 200,
      body: {
        name: 'Cadenza',
        version: API_VERSION,
        links: {
          openapi: link('/openapi.json'),
          docs: link('/docs'),
          console: consoleFolder === undefined ? null : link('/console/'),
          health: link('/healthz'),
          readiness: link('/readyz'),
        },
      },
    }),
  });
}
