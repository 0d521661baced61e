import type { Task as TaskDefinition } from '../../contracts/definition/model.ts';

const KINDS = ['call', 'for', 'do', 'emit', 'fork', 'listen', 'raise', 'run', 'set', 'switch', 'try', 'wait'] as const;

/** The kind for people: `call: agent` is `agent`; a call of another function says `call`. */
export function taskType(definition: TaskDefinition): string {
  const kind = KINDS.find((candidate) => Object.hasOwn(definition, candidate)) ?? 'unknown';
  if (!('call' in definition)) return kind;
  const [name] = definition.call.split(':');
  return name === 'agent' || name === 'human' || name === 'http' ? name : 'call';
}
