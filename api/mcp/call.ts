/** One request to the MCP server, whatever protocol version it has. */
import type { ServerContext } from '@modelcontextprotocol/server';

import type { AuditOrigin } from '../../domain/audit/write.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import type { AppDeps } from '../deps.ts';
import type { LiveSession } from '../streams/live-sessions.ts';

export interface McpCall {
  /** Names the call in ids of events, so that another request can resume it. */
  id: string;
  deps: AppDeps;
  actor: Actor;
  /** Of the entries in the audit log. */
  origin: AuditOrigin;
  /** Of the client, which chose it by `initialize`; null if the protocol has no sessions. */
  sessionId: string | null;
  /** The run whose step sends the request; null for any other caller. */
  callingRunId: string | null;
  /** A call with the same key and arguments is the same call. */
  idempotencyKey: string | null;
  /** Closing the connection cancels the call, as from 2026-07-28 on. */
  cancelsOnLeave: boolean;
  /** @throws 429 when the user has too many streams open */
  openSession: () => Promise<LiveSession>;
  /** Aborted when the client goes away. */
  gone: AbortSignal;
  /** Whether the client has not yet taken what was sent to it. */
  isBehind: () => boolean;
  /** Called when the message has been read: what follows waits for others. */
  hasRead: () => void;
  /** The last entry of the run's log that the client knows of. */
  lastSeq: number;
}

export type Progress = ServerContext['mcpReq'];
