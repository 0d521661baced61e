import { createHash } from 'node:crypto';
import * as z from 'zod';

import type { AppDeps } from '../../app.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { createOpenApi } from '../../openapi.ts';
import { referencePage, referenceStyle } from './page.ts';

/** `endpoints` is asked when the document is, so it has these two as well. */
export function referenceEndpoints(deps: Pick<AppDeps, 'env'>, endpoints: () => readonly Endpoint[]): Endpoint[] {
  let made: { document: object; page: string } | null = null;
  const make = () => {
    const document = createOpenApi(endpoints(), deps.env.BASE_URL);
    return { document, page: referencePage(document) };
  };
  const styleHash = createHash('sha256').update(referenceStyle).digest('base64');
  return [
    endpoint({
      method: 'GET',
      path: '/openapi.json',
      operationId: 'getOpenApi',
      summary: 'This interface as OpenAPI 3.1',
      tags: ['operations'],
      role: 'public',
      responses: { 200: z.looseObject({ openapi: z.string() }) },
      handler: async () => ({ status: 200, body: (made ??= make()).document }),
    }),
    endpoint({
      method: 'GET',
      path: '/docs',
      operationId: 'getReference',
      summary: 'This interface as a page to read',
      tags: ['operations'],
      role: 'public',
      responses: { 200: media({ 'text/html': z.string() }) },
      handler: async () => ({
        status: 200,
        type: 'text/html',
        body: (made ??= make()).page,
        headers: { 'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'` },
      }),
    }),
  ];
}
