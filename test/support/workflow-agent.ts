import { expect } from '@jest/globals';
import type { Client } from './app.ts';

/**
 * Registers a private workflow agent that streams and pushes. @returns its id. `more` overrides its fields.
 */
export async function workflowAgent(
  builder: Client,
  definition: unknown,
  more: Record<string, unknown> = {},
  configuration: Record<string, unknown> = {},
): Promise<string> {
  const workflow = await builder.post('/workflows', { name: 'a2a', definition });
  expect(workflow.body.problems.filter(({ severity }: any) => severity === 'error')).toEqual([]);
  const agent = await builder.post('/agents', {
    name: 'An agent',
    type: 'workflow',
    version: '1.0.0',
    visibility: 'private',
    configuration: { workflow_id: workflow.body.id, ...configuration },
    capabilities_streaming: true,
    capabilities_push: true,
    ...more,
  });
  expect(agent.status).toBe(201);
  return agent.body.id;
}

/** Registers a workflow agent as `workflowAgent` does. @returns the path of its A2A endpoint. */
export async function workflowAgentPath(
  builder: Client,
  definition: unknown,
  more: Record<string, unknown> = {},
): Promise<string> {
  return `/api/v1/a2a/${await workflowAgent(builder, definition, more)}`;
}
