/** The addresses of the console. The address is the state of a screen: copying it shares the view. */

export const BASE = '/console';

export type Route =
  | { screen: 'inbox' }
  | { screen: 'runs' }
  | { screen: 'run'; id: string }
  | { screen: 'workflows' }
  | { screen: 'workflow'; id: string }
  | { screen: 'agents' }
  | { screen: 'agent-new' }
  | { screen: 'agent'; id: string }
  | { screen: 'agent-edit'; id: string }
  // Without an id, a new workflow.
  | { screen: 'editor'; id: string | null }
  | { screen: 'marketplace' }
  | { screen: 'market-item'; id: string }
  // What waits for an admin.
  | { screen: 'market-reviews' }
  | { screen: 'settings'; part: SettingsPart }
  // Of one user, for admins; within the settings.
  | { screen: 'user'; id: string }
  | { screen: 'device' }
  // Also for people who are not logged in: chooses a password by a link of a mail, or asks for one.
  | { screen: 'password' }
  // What one may start, without building it.
  | { screen: 'start' }
  | { screen: 'unknown' };

const SETTINGS = [
  'profile',
  'notifications',
  'sessions',
  'security',
  'tokens',
  'clients',
  'secrets',
  'webhooks',
  'events',
  'files',
  'conversations',
  'usage',
  'limits',
  'budgets',
  'prices',
  'users',
  'audit',
  'issuers',
  'teams',
  'health',
] as const;
export type SettingsPart = (typeof SETTINGS)[number];

/** @param path as in the address bar, with `/console` */
export function routeOf(path: string): Route {
  const parts = path
    .slice(BASE.length)
    .split('/')
    .filter((part) => part !== '');
  const [first = 'inbox', id, part] = parts;
  if (first === 'agents') return agentRoute(parts.slice(1));
  if (first === 'workflows' && parts.length <= 3) return workflowRoute(id, part);
  if (first === 'settings' && id === 'users' && part !== undefined && parts.length === 3)
    return { screen: 'user', id: part };
  if (parts.length > 2) return { screen: 'unknown' };
  if (first === 'inbox' && id === undefined) return { screen: 'inbox' };
  if (first === 'runs') return id === undefined ? { screen: 'runs' } : { screen: 'run', id };
  if (first === 'marketplace') {
    if (id === undefined) return { screen: 'marketplace' };
    return id === 'reviews' ? { screen: 'market-reviews' } : { screen: 'market-item', id };
  }
  if (first === 'settings') {
    const part = SETTINGS.find((name) => name === (id ?? 'profile'));
    return part === undefined ? { screen: 'unknown' } : { screen: 'settings', part };
  }
  // The address that the API shows to programs (`verification_uri`).
  if (first === 'device' && id === undefined) return { screen: 'device' };
  if (first === 'password' && id === undefined) return { screen: 'password' };
  if (first === 'start' && id === undefined) return { screen: 'start' };
  return { screen: 'unknown' };
}

function agentRoute([id, act, ...more]: string[]): Route {
  if (more.length > 0) return { screen: 'unknown' };
  if (id === undefined) return { screen: 'agents' };
  if (act === undefined) return id === 'new' ? { screen: 'agent-new' } : { screen: 'agent', id };
  return act === 'edit' ? { screen: 'agent-edit', id } : { screen: 'unknown' };
}

function workflowRoute(id: string | undefined, part: string | undefined): Route {
  if (id === undefined) return { screen: 'workflows' };
  if (part === 'edit') return { screen: 'editor', id };
  if (part !== undefined) return { screen: 'unknown' };
  return id === 'new' ? { screen: 'editor', id: null } : { screen: 'workflow', id };
}

export type Query = Readonly<Record<string, string>>;

/** An address with the given parameters; empty ones are left out. */
export function addressOf(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

export function inboxAddress(query: Readonly<Record<string, string | undefined>> = {}): string {
  return addressOf(`${BASE}/inbox`, query);
}

export function runAddress(id: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  return addressOf(`${BASE}/runs/${encodeURIComponent(id)}`, query);
}

export function runsAddress(query: Readonly<Record<string, string | undefined>> = {}): string {
  return addressOf(`${BASE}/runs`, query);
}

export function workflowsAddress(query: Readonly<Record<string, string | undefined>> = {}): string {
  return addressOf(`${BASE}/workflows`, query);
}

export function workflowAddress(
  id: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  return addressOf(`${BASE}/workflows/${encodeURIComponent(id)}`, query);
}

export function agentsAddress(query: Readonly<Record<string, string | undefined>> = {}): string {
  return addressOf(`${BASE}/agents`, query);
}

/** @param id of an agent, or `new` */
export function agentAddress(id: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  return addressOf(`${BASE}/agents/${encodeURIComponent(id)}`, query);
}

export function editAgentAddress(id: string): string {
  return `${agentAddress(id)}/edit`;
}

/** The editor; without an id, of a new workflow. */
export function editorAddress(
  id: string | null,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  return addressOf(id === null ? `${BASE}/workflows/new` : `${workflowAddress(id)}/edit`, query);
}

export function startAddress(): string {
  return `${BASE}/start`;
}

export function marketplaceAddress(query: Readonly<Record<string, string | undefined>> = {}): string {
  return addressOf(`${BASE}/marketplace`, query);
}

/** @param id of an item, or `reviews` */
export function marketItemAddress(
  id: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  return addressOf(`${BASE}/marketplace/${encodeURIComponent(id)}`, query);
}

export function settingsAddress(
  part: SettingsPart,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  return addressOf(`${BASE}/settings/${part}`, query);
}

export function userAddress(id: string): string {
  return `${settingsAddress('users')}/${encodeURIComponent(id)}`;
}
