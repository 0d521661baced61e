/** One A2A request, independent of the binding that it came in by. */
import type { A2AStreamItem } from '../../contracts/a2a/objects.ts';
import type { Role } from '../../contracts/roles.ts';
import type { AuditOrigin } from '../../domain/audit/write.ts';
import { hasRole, type Actor } from '../../domain/auth/actor.ts';
import { hasRoleInSomeTeam } from '../../domain/auth/ownership.ts';
import type { A2AAgent } from '../../domain/a2a/agent.ts';
import { HITL_EXTENSION } from '../../contracts/a2a/hitl-extension.ts';
import { parsePosition } from '../../contracts/a2a/updates.ts';
import type { WireVersion } from '../../contracts/a2a/objects.ts';
import { invalid } from '../../domain/errors.ts';
import type { AppDeps } from '../deps.ts';
import { actingAs } from '../middleware/auth.ts';
import { hasScope } from '../scopes.ts';
import type { LiveSession } from '../streams/live-sessions.ts';

export interface A2ACall {
  deps: AppDeps;
  actor: Actor;
  /** Of the entries in the audit log. */
  origin: AuditOrigin;
  /**
   * Opens a session for a stream or a long wait; it ends when the access token expires. Close it after use.
   * @throws 429 when the user has too many streams open
   */
  openSession(kind: 'stream' | 'wait'): Promise<LiveSession>;
  target: A2AAgent;
  version: WireVersion;
  /** URIs from the `A2A-Extensions` header. */
  extensions: readonly string[];
  /** `Last-Event-ID` of a client that resumes a stream; empty if absent. */
  lastEventId: string;
  requestId: string;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
  /** Id of the last item that the stream yielded, for `id:` of its SSE event. */
  lastItem: { id: string | null };
  /** The error that the handler threw, before its conversion to an A2A error. */
  thrown?: unknown;
  /** Set once the handler runs. An unknown error before that means that the request is malformed. */
  handlerCalled?: boolean;
}

/** A client needs the role builder to change something of a task, as over HTTP. */
function roleToChange({ client }: Actor): Role {
  return client === undefined ? 'viewer' : 'builder';
}

/** The caller who changes something of a task. @throws 403 */
export function changing({ actor }: Pick<A2ACall, 'actor'>): Actor {
  return actingAs(actor, roleToChange(actor), true);
}

/** Whether the caller's role and scopes permit to change something of a task. */
export function mayChange({ actor }: Pick<A2ACall, 'actor'>): boolean {
  const role = roleToChange(actor);
  return hasScope(actor, 'runs:write') && (hasRole(actor, role) || hasRoleInSomeTeam(actor, role));
}

/** Parses the URIs of an `A2A-Extensions` header. */
export function extensionsNamed(header: string): string[] {
  return header
    .split(',')
    .map((uri) => uri.trim())
    .filter((uri) => uri !== '');
}

/** The requested extensions that the agent supports, for the response header. */
export function activeExtensions({ extensions, target }: Pick<A2ACall, 'extensions' | 'target'>): string[] {
  const known = new Set([HITL_EXTENSION, ...target.extensions.map(({ uri }) => uri)]);
  return extensions.filter((uri) => known.has(uri));
}

/**
 * Position given by `Last-Event-ID`, or null without that header.
 * @throws 422 if the id does not belong to an event stream
 */
export function resumePosition({ lastEventId }: A2ACall): { seq: number; part: number | null } | null {
  if (lastEventId === '') return null;
  const position = parsePosition(lastEventId);
  if (!position)
    throw invalid([
      {
        pointer: '/Last-Event-ID',
        code: 'invalid',
        message: 'Last-Event-ID must be the id of an event of this stream',
      },
    ]);
  return position;
}

export type ItemStream = AsyncGenerator<A2AStreamItem, void, undefined>;
