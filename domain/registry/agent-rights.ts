/** What a user may do with an agent that they see. */
import type { Actor } from '../auth/actor.ts';
import { acting, mayMove, mayUse } from '../auth/ownership.ts';
import { mayChangeAgent, mayPublishAgent, maySeeAgent, type Ownership } from './agent-policy.ts';

export const AGENT_ACTIONS = [
  'invoke',
  'update',
  'delete',
  'publish_version',
  'deprecate_version',
  'publish',
  'move',
] as const;
export type AgentAction = (typeof AGENT_ACTIONS)[number];

/** `publish`: in the marketplace. Deleting may still fail while runs use the agent. */
export function agentActions(
  caller: Actor,
  agent: Ownership,
  versions: readonly { status: string }[],
): AgentAction[] {
  if (!maySeeAgent(caller, agent)) return [];
  const actor = acting(caller, 'builder');
  const has = (status: string): boolean => versions.some((version) => version.status === status);
  const may: Record<AgentAction, boolean> = {
    invoke: mayUse(actor, agent),
    update: mayChangeAgent(actor, agent),
    delete: mayChangeAgent(actor, agent),
    publish_version: mayChangeAgent(actor, agent) && has('draft'),
    deprecate_version: mayChangeAgent(actor, agent) && has('published'),
    publish: mayPublishAgent(actor, agent) && has('published'),
    move: mayMove(actor, agent),
  };
  return AGENT_ACTIONS.filter((action) => may[action]);
}
