import * as z from 'zod';
import { media, type EndpointContext, type EndpointResponse } from '../endpoint.ts';
import { toMermaid } from './mermaid.ts';
import type { TaskStates } from './states.ts';
import { toSvg } from './svg.ts';

export const diagramResponses = {
  200: media({ 'text/vnd.mermaid': z.string(), 'text/plain': z.string(), 'image/svg+xml': z.string() }),
};

/** The picture in the form that the caller accepts; Mermaid by default. */
export function respondDiagram(
  c: Pick<EndpointContext, 'ctx'>,
  definition: unknown,
  states?: TaskStates,
): EndpointResponse {
  const type = c.ctx.accepts(['text/vnd.mermaid', 'text/plain', 'image/svg+xml']) || 'text/vnd.mermaid';
  const svg = type === 'image/svg+xml';
  return {
    status: 200,
    type: String(type),
    body: svg ? toSvg(definition, states) : toMermaid(definition, states),
    headers: {
      Vary: 'Accept',
      'X-Content-Type-Options': 'nosniff',
      ...(svg ? { 'Content-Security-Policy': "default-src 'none'; sandbox" } : {}),
    },
  };
}
