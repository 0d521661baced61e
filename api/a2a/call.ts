/** One request of the protocol, whatever its binding. */
import type { A2AStreamItem } from '../../contracts/a2a.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import type { A2AAgent } from '../../domain/a2a/agent.ts';
import { HITL_EXTENSION } from '../../domain/a2a/hitl-extension.ts';
import { parsePosition } from '../../domain/a2a/updates.ts';
import type { WireVersion } from '../../domain/a2a/push-configs.ts';
import { invalid } from '../../domain/errors.ts';
import type { AppDeps } from '../app.ts';

export interface A2ACall {
  deps: AppDeps;
  actor: Actor;
  /** The caller as of now, for what lasts longer than a request; null if the token is no longer good. */
  actorNow(): Promise<Actor | null>;
  target: A2AAgent;
  version: WireVersion;
  /** URIs of `A2A-Extensions`. */
  extensions: readonly string[];
  /** Of a client that comes back to a stream. */
  lastEventId: string;
  requestId: string;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
  /** Id of the item that a stream gave last, for `id:` of its event. */
  lastItem: { id: string | null };
  /** What the handler threw, before it became an error of the protocol. */
  thrown?: unknown;
  /** The handler was asked: what fails without that is the request's form. */
  reached?: boolean;
}

/** URIs of a header `A2A-Extensions`. */
export function extensionsNamed(header: string): string[] {
  return header.split(',').map((uri) => uri.trim()).filter((uri) => uri !== '');
}

/** Those that the client named and we know: what the answer's header says. */
export function activeExtensions({ extensions, target }: Pick<A2ACall, 'extensions' | 'target'>): string[] {
  const known = new Set([HITL_EXTENSION, ...target.extensions.map(({ uri }) => uri)]);
  return extensions.filter((uri) => known.has(uri));
}

/** Null without `Last-Event-ID`. @throws 422 for an id that is none of ours. */
export function resumePosition({ lastEventId }: A2ACall): { seq: number; part: number | null } | null {
  if (lastEventId === '') return null;
  const position = parsePosition(lastEventId);
  if (!position) throw invalid([{ pointer: '/Last-Event-ID', code: 'invalid', message: 'Last-Event-ID must be the id of an event of this stream' }]);
  return position;
}

export type ItemStream = AsyncGenerator<A2AStreamItem, void, undefined>;
