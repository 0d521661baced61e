/** The least that registers an agent, with what a test is about. */
export function agentBody(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'summariser', type: 'api', version: '1.0.0', visibility: 'private', ...more };
}
