import * as z from 'zod';

import { notFound } from '../../../domain/errors.ts';
import { readAgent } from '../../../domain/registry/agent-service.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { idParams } from '../../schemas.ts';
import { agentPage, PAGE_POLICY } from './render.ts';
import { renderedMarkdown } from './rendered.ts';

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
        const { name, version, documentation } = await readAgent(c.em, c.actor, c.params.id);
        if (!documentation) throw notFound('documentation');
        const isSource = c.ctx.accepts(['text/html', 'text/markdown']) === 'text/markdown';
        return {
          status: 200,
          type: isSource ? 'text/markdown' : 'text/html',
          body: isSource
            ? documentation
            : agentPage({ name, version, documentation }, await renderedMarkdown(c.actor.id, documentation)),
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
