/** Enumerated values in an agent's record (docs/interface.md#fields-of-an-agent). */

export const AGENT_TYPES = ['docker', 'api', 'a2a', 'llm', 'vision', 'audio', 'sensor', 'workflow'] as const;
export const EXECUTION_TYPES = ['docker', 'api', 'a2a', 'framework', 'edge'] as const;
export const AGENT_STATUSES = ['active', 'inactive', 'deprecated'] as const;
export const AUTHENTICATION_TYPES = ['none', 'api_key', 'oauth', 'jwt'] as const;

const DISPLAY: Record<string, { type: string; name: string }> = {
  llm: { type: 'text', name: 'Text Agent' },
  vision: { type: 'vision', name: 'Vision Agent' },
  audio: { type: 'audio', name: 'Audio Agent' },
  a2a: { type: 'a2a', name: 'A2A Agent' },
  docker: { type: 'container', name: 'Container Agent' },
  api: { type: 'api', name: 'API Agent' },
  sensor: { type: 'sensor', name: 'Sensor Agent' },
  workflow: { type: 'workflow', name: 'Workflow Agent' },
};

/** Type and name to display for an agent type. An unknown type is displayed as it is. */
export function displayOf(type: string): { type: string; name: string } {
  return (Object.hasOwn(DISPLAY, type) ? DISPLAY[type] : undefined) ?? { type, name: type };
}
