import type { Client } from './app.ts';

/** The minimal registration of an agent, plus the fields that a test is about. */
export function agentBody(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'summariser', type: 'api', version: '1.0.0', visibility: 'private', ...more };
}

/** Registers a minimal agent with the fields that a test is about. @returns its record. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read any property of a response
export async function registeredAgent(client: Client, more: Record<string, unknown> = {}): Promise<any> {
  const { status, body } = await client.post('/agents', agentBody(more));
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body;
}
