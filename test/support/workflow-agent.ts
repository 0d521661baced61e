import { expect } from '@jest/globals';
import type { Client } from './app.ts';

/** A private workflow agent that streams and pushes; gives its id. `more`: fields of the agent over these. */
export async function workflowAgent(builder: Client, definition: unknown, more: Record<string, unknown> = {}, configuration: Record<string, unknown> = {}): Promise<string> {
  const workflow = await builder.post('/workflows', { name: 'a2a', definition });
  expect(workflow.body.problems).toEqual([]);
  const agent = await builder.post('/agents', {
    name: 'An agent', type: 'workflow', version: '1.0.0', visibility: 'private', configuration: { workflow_id: workflow.body.id, ...configuration },
    capabilities_streaming: true, capabilities_push: true, ...more,
  });
  expect(agent.status).toBe(201);
  return agent.body.id;
}
