/** What an agent remembers of the caller's conversations (docs/llm-agents.md#remember-a-conversation). */
import * as z from 'zod';

import { MAX_SESSION_ID } from '../../../contracts/tool-loop.ts';
import {
  agentWithSessions,
  deleteSession,
  getSession,
  listSessions,
  type SaidRow,
  type SessionRow,
} from '../../../domain/conversations/sessions.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, text, timestamp, uuid } from '../../schemas.ts';

const TAGS = ['agents'];
const sessionParams = z.object({ ...idParams.shape, session: text({ min: 1, max: MAX_SESSION_ID }) });

const sessionFields = {
  id: uuid,
  agent_id: uuid,
  agent_name: z.string(),
  session: z.string().meta({ description: 'The id that its calls name.' }),
  messages: z.int().meta({ description: 'How many messages are kept.' }),
  created_at: timestamp,
  updated_at: timestamp,
};
const sessionSummary = z.object(sessionFields).meta({ id: 'AgentSession' });
const sessionRecord = z
  .object({
    ...sessionFields,
    said: z
      .array(
        z
          .object({ role: z.enum(['user', 'assistant']), text: z.string(), said_at: timestamp })
          .meta({ id: 'AgentSessionMessage' }),
      )
      .meta({ description: 'Oldest first.' }),
  })
  .meta({ id: 'AgentSessionWithMessages' });

const q = text({ max: 255 })
  .optional()
  .meta({ description: 'Text in the id or in what was said; case is ignored.' });

export function sessionEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/conversations',
      operationId: 'listConversations',
      summary: "List the caller's conversations with all agents, newest first",
      description:
        'Also with agents that the caller may not see, but which a workflow of their owner has called.',
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, agent_id: uuid.optional(), q }),
      responses: { 200: z.array(sessionSummary) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listSessions(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map(presentSession), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}/sessions',
      operationId: 'listAgentSessions',
      summary: "List the caller's conversations with an agent, newest first",
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object({ ...pageQuery, q }),
      responses: { 200: z.array(sessionSummary) },
      handler: async (c) => {
        const agentId = await agentWithSessions(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listSessions(c.em, c.actor, { ...filter, agent_id: agentId }, page),
        );
        return { status: 200, body: items.map(presentSession), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}/sessions/{session}',
      operationId: 'getAgentSession',
      summary: "Get one of the caller's conversations with an agent",
      tags: TAGS,
      role: 'viewer',
      params: sessionParams,
      responses: { 200: sessionRecord },
      handler: async (c) => {
        const agentId = await agentWithSessions(c.em, c.actor, c.params.id);
        const { said, ...session } = await getSession(c.em, c.actor, agentId, c.params.session);
        return { status: 200, body: { ...presentSession(session), said: said.map(presentMessage) } };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/agents/{id}/sessions/{session}',
      operationId: 'deleteAgentSession',
      summary: "Forget one of the caller's conversations with an agent",
      tags: TAGS,
      role: 'viewer',
      clientRole: 'builder',
      params: sessionParams,
      responses: { 204: null },
      handler: async (c) => {
        const agentId = await agentWithSessions(c.em, c.actor, c.params.id);
        await deleteSession(c.em, c.actor, agentId, c.params.session);
        return { status: 204 };
      },
    }),
  ];
}

function presentSession({ created_at, updated_at, ...session }: SessionRow) {
  return { ...session, created_at: time(created_at), updated_at: time(updated_at) };
}

function presentMessage({ role, text: said, said_at }: SaidRow) {
  return { role, text: said, said_at: time(said_at) };
}

function time(value: Date | string): string {
  return new Date(value).toISOString();
}
