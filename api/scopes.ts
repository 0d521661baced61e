/** Which scope an operation needs, and whether a caller has it (docs/adr/0054). */
import type { Context } from 'koa';

import { WORKFLOW_SCOPE, type Scope } from '../contracts/scopes.ts';
import { isUuid } from '../contracts/uuid.ts';
import type { EntityManager } from '../db/orm.ts';
import { FIRST_PARTY_CLIENT, type Claims } from '../domain/auth/access-token.ts';
import type { Actor } from '../domain/auth/actor.ts';
import { AppError } from '../domain/errors.ts';
import type { Endpoint, EndpointScope, WorkflowIn } from './endpoint.ts';

export type ScopedEndpoint = Endpoint & { scope: EndpointScope };

type Family =
  'agents' | 'hitl' | 'workflows' | 'runs' | 'files' | 'secrets' | 'events' | 'webhooks' | 'marketplace';

/**
 * Gives the operations of a group their scopes: reading and changing are told apart by the method, and what
 * is for admins needs `admin`. An operation may declare another one.
 */
export function scoped(
  family: Family | 'usage' | 'account' | 'person' | 'none',
  endpoints: readonly Endpoint[],
): ScopedEndpoint[] {
  return endpoints.map((endpoint) => {
    const workflowIn = endpoint.workflowIn ?? workflowInOf(endpoint);
    return {
      ...endpoint,
      scope: endpoint.scope ?? defaultOf(family, endpoint),
      ...(workflowIn === undefined ? {} : { workflowIn }),
    };
  });
}

function defaultOf(family: Parameters<typeof scoped>[0], { method, role }: Endpoint): EndpointScope {
  if (role === 'public') return 'none';
  if (family === 'person') return 'person';
  if (role === 'admin') return 'admin';
  if (family === 'none') return 'none';
  if (method === 'GET') return `${family}:read`;
  return family === 'hitl' ? 'hitl:decide' : `${family}:write`;
}

/** What a token for one workflow may do: read and run it, and read and steer its runs. */
function workflowInOf({ method, path }: Endpoint): WorkflowIn | undefined {
  if (path === '/runs' && method === 'GET') return 'query';
  if (path.startsWith('/runs/{id}')) return 'run';
  const isRun = /^\/workflows\/\{id\}\/(?:run|execute|schedule\/trigger|schedule\/backfill)$/.test(path);
  const isRead = method === 'GET' && /^\/(?:startable-)?workflows\/\{id\}/.test(path);
  return isRun || isRead ? 'workflow' : undefined;
}

/** What a check needs of an operation. */
export interface ScopeRule {
  scope?: EndpointScope | undefined;
  workflowIn?: WorkflowIn | undefined;
}

/**
 * A caller without scopes may do what its roles allow.
 * @throws 403 `insufficient_scope` (RFC 6750 section 3.1)
 */
export async function checkScope(
  fork: () => EntityManager,
  ctx: Context,
  actor: Actor,
  { scope, workflowIn }: ScopeRule,
): Promise<void> {
  const { scopes } = actor;
  if (scope === 'person') requirePerson(ctx);
  if (scopes === undefined || scopes === null || scope === 'none') return;
  if (scope !== undefined && scopes.includes(scope)) return;
  const workflows = workflowsIn(scopes);
  if (workflows.length > 0 && workflowIn !== undefined) {
    const named = await workflowOf(fork, ctx, workflowIn);
    if (named !== null && workflows.includes(named)) return;
  }
  throw insufficientScope(scope);
}

/** A client without scopes has its user's rights, but it is not that person. @throws 403 */
function requirePerson(ctx: Context): void {
  const claims: Claims | undefined = ctx.state['claims'];
  if (claims?.client_id !== FIRST_PARTY_CLIENT) throw insufficientScope('person');
}

/** For operations outside of the endpoint declarations. @throws 403 */
export function requireScope(actor: Actor, scope: Scope): void {
  if (!hasScope(actor, scope)) throw insufficientScope(scope);
}

export function hasScope({ scopes }: Pick<Actor, 'scopes'>, scope: Scope): boolean {
  return scopes === undefined || scopes === null || scopes.includes(scope);
}

function workflowsIn(scopes: readonly string[]): string[] {
  return scopes.flatMap((scope) => WORKFLOW_SCOPE.exec(scope)?.[1] ?? []);
}

async function workflowOf(
  fork: () => EntityManager,
  ctx: Context,
  workflowIn: WorkflowIn,
): Promise<string | null> {
  const id = namedId(ctx, workflowIn);
  if (typeof id !== 'string' || !isUuid(id)) return null;
  if (workflowIn !== 'run') return id.toLowerCase();
  const [row] = await fork().execute<{ workflow_id: string | null }[]>(
    'select workflow_id from run where id = ?',
    [id],
  );
  return row?.workflow_id ?? null;
}

function namedId(ctx: Context, workflowIn: WorkflowIn): unknown {
  switch (workflowIn) {
    case 'query':
      return ctx.query['workflow_id'];
    case 'workflowQuery':
      return ctx.query['workflow'];
    default:
      return ctx['params']?.id;
  }
}

function insufficientScope(scope: EndpointScope | undefined): AppError {
  if (scope === undefined || scope === 'person') {
    return new AppError(
      'forbidden',
      'person_required',
      'Only a person may do this, in a session of their own: access tokens and clients may not.',
      { headers: { 'WWW-Authenticate': 'Bearer realm="cadenza", error="insufficient_scope"' } },
    );
  }
  return new AppError('forbidden', 'insufficient_scope', `This needs the scope ${scope}.`, {
    headers: {
      'WWW-Authenticate': `Bearer realm="cadenza", error="insufficient_scope", scope="${scope}"`,
    },
    extra: { scope },
  });
}
