/** What a user may do with an agent that they see. */
import { hasRole, type Actor } from '../auth/actor.ts';
import { mayChangeAgent, mayPublishAgent, maySeeAgent, type Ownership } from './agent-policy.ts';

export const AGENT_ACTIONS = [
  'invoke',
  'update',
  'delete',
  'publish_version',
  'deprecate_version',
  'publish',
] as const;
export type AgentAction = (typeof AGENT_ACTIONS)[number];

/** `publish`: in the marketplace. Deleting may still fail while runs use the agent. */
export function agentActions(
  actor: Actor,
  agent: Ownership,
  versions: readonly { status: string }[],
): AgentAction[] {
  if (!hasRole(actor, 'builder') || !maySeeAgent(actor, agent)) return [];
  const has = (status: string): boolean => versions.some((version) => version.status === status);
  const may: Record<AgentAction, boolean> = {
    invoke: true,
    update: mayChangeAgent(actor, agent),
    delete: mayChangeAgent(actor, agent),
    publish_version: mayChangeAgent(actor, agent) && has('draft'),
    deprecate_version: mayChangeAgent(actor, agent) && has('published'),
    publish: mayPublishAgent(actor, agent) && has('published'),
  };
  return AGENT_ACTIONS.filter((action) => may[action]);
}
