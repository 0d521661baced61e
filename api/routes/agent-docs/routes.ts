import * as z from 'zod';

import { notFound } from '../../../domain/errors.ts';
import { getAgent } from '../../../domain/registry/agent-service.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { idParams } from '../../schemas.ts';
import { PAGE_POLICY, renderAgentPage } from './render.ts';

export function agentDocsEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/docs/agents/{id}',
      operationId: 'getAgentDocumentation',
      summary: "Get an agent's documentation as a page, or as Markdown if `Accept` asks for it",
      tags: ['agents'],
      role: 'viewer',
      params: idParams,
      responses: { 200: media({ 'text/html': z.string(), 'text/markdown': z.string() }) },
      handler: async (c) => {
        const { name, version, documentation } = await getAgent(c.em, c.actor, c.params.id);
        if (!documentation) throw notFound('documentation');
        const type =
          c.ctx.accepts(['text/html', 'text/markdown']) === 'text/markdown' ? 'text/markdown' : 'text/html';
        return {
          status: 200,
          type,
          body: type === 'text/markdown' ? documentation : renderAgentPage({ name, version, documentation }),
          headers: {
            Vary: 'Accept',
            'Content-Security-Policy': PAGE_POLICY,
            'X-Content-Type-Options': 'nosniff',
          },
        };
      },
    }),
  ];
}
