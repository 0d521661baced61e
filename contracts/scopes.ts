/** Scopes: what an access token, a machine client or an OAuth client may do of what its user may. */
import { didYouMeanName } from './suggest.ts';

export const SCOPES = [
  'agents:read',
  'agents:write',
  'workflows:read',
  'workflows:write',
  'runs:read',
  'runs:write',
  'hitl:read',
  'hitl:decide',
  'files:read',
  'files:write',
  'secrets:read',
  'secrets:write',
  'events:read',
  'events:write',
  'webhooks:read',
  'webhooks:write',
  'marketplace:read',
  'marketplace:write',
  'usage:read',
  'usage:write',
  'account:read',
  'account:write',
  'audit:read',
  'admin',
] as const;

export type Scope = (typeof SCOPES)[number];

/** Of one workflow: read it, run it, and see and steer its runs. */
export const WORKFLOW_SCOPE = /^workflow:([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

/** The most scopes that a token may have. */
export const MAX_SCOPES = 50;

export const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  'agents:read': 'read agents, their versions and their sessions',
  'agents:write': 'create and change agents',
  'workflows:read': 'read workflows and their schedules',
  'workflows:write': 'create and change workflows and their schedules',
  'runs:read': 'read runs, their logs and streams',
  'runs:write': 'start and steer runs of workflows and agents',
  'hitl:read': 'read human tasks',
  'hitl:decide': 'decide human tasks in your name',
  'files:read': 'read files',
  'files:write': 'upload, change and delete files',
  'secrets:read': 'list the names of secrets',
  'secrets:write': 'set and delete secrets',
  'events:read': 'read events, and what sends them',
  'events:write': 'send events in, and change what may send them',
  'webhooks:read': 'read webhooks and their deliveries',
  'webhooks:write': 'create and change webhooks',
  'marketplace:read': 'read the marketplace',
  'marketplace:write': 'publish, install and review items of the marketplace',
  'usage:read': 'read usage, prices and budgets',
  'usage:write': 'raise budgets',
  'account:read': 'read who you are, and your settings',
  'account:write': 'change your settings',
  'audit:read': 'read the audit log as far as you may',
  admin: 'use the rights of an administrator, if you are one',
};

export function isScope(text: string): text is Scope {
  return SCOPES.some((scope) => scope === text);
}

/** What is wrong with a text that is no scope, as the end of a sentence. */
export function noScope(text: string): string {
  const meant = didYouMeanName(text, SCOPES);
  return `is no scope${meant === '' ? `: there are ${SCOPES.join(', ')} and workflow:<id>` : meant}`;
}

export function isScopeText(text: string): boolean {
  return isScope(text) || WORKFLOW_SCOPE.test(text);
}
