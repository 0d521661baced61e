/** Tools that run agents and workflows. */
import type { CallToolResult } from '@modelcontextprotocol/server';

import { canonicalJson } from '../../contracts/canonical-json.ts';
import { AppError } from '../../domain/errors.ts';
import { getAgent } from '../../domain/registry/agent-service.ts';
import { findToolSource, type ToolSource } from '../../domain/registry/tool-lists.ts';
import { invokeAgent } from '../../domain/runs/invoke.ts';
import { runLimits } from '../../domain/runs/limits.ts';
import { getRun } from '../../domain/runs/queries.ts';
import { getStartable } from '../../domain/runs/runnable.ts';
import { runWorkflow } from '../../domain/runs/service.ts';
import { followRun } from '../protocol-calls/follow-run.ts';
import { cancelLeftRun, digestOf, startProtocolCall } from '../protocol-calls/start-run.ts';
import type { McpCall, Progress } from './call.ts';
import { runResult } from './results.ts';
import { sourceOfName, toolName } from './tool-names.ts';
import { runResultSchema, toolInput } from './tool-schemas.ts';

/** Clients give up after a minute unless they hear of progress. */
const QUIET_WAIT_MS = 45_000;
const PROGRESS_WAIT_MS = 15 * 60_000;

export interface ListedTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: { type: 'object'; [key: string]: unknown };
  outputSchema?: { type: 'object'; [key: string]: unknown };
  annotations?: Record<string, boolean | string>;
}

export function describeTool(source: ToolSource): ListedTool {
  const what =
    source.kind === 'agent' ? `Runs the agent "${source.name}".` : `Runs the workflow "${source.name}".`;
  return {
    name: toolName(source),
    title: source.name,
    description: [source.description?.trim(), what].filter((part) => part).join('\n\n'),
    inputSchema: toolInput(source).schema,
    outputSchema: runResultSchema(source.output_schema),
    annotations: { title: source.name, readOnlyHint: false, openWorldHint: true },
  };
}

/** Null if there is no such tool, or none that the caller may see. */
export async function callRunTool(
  call: McpCall,
  name: string,
  given: Record<string, unknown>,
  request: Progress,
): Promise<CallToolResult | null> {
  const named = sourceOfName(name);
  const source =
    named && (await findToolSource(call.deps.orm.em.fork(), call.actor, named.kind, named.digits));
  if (!source) return null;
  const session = await call.openSession();
  try {
    const token = request._meta?.progressToken;
    const runId = await start(call, source, given, request);
    const untilMs = performance.now() + (token === undefined ? QUIET_WAIT_MS : PROGRESS_WAIT_MS);
    const waiting = { deps: call.deps, session, gone: AbortSignal.any([call.gone, request.signal]) };
    return await waitFor(call, waiting, { runId, after: 0, untilMs }, request);
  } finally {
    session.close();
  }
}

async function start(
  call: McpCall,
  source: ToolSource,
  given: Record<string, unknown>,
  request: Progress,
): Promise<string> {
  const { deps, actor, callingRunId: caller_run_id, idempotencyKey: key } = call;
  const input = toolInput(source).inputOf(given);
  const token = request._meta?.progressToken;
  const limits = runLimits(deps.env);
  const note = {
    id: call.id,
    protocol: 'mcp' as const,
    user_id: actor.id,
    session_id: call.sessionId,
    request_id: JSON.stringify(request.id),
    progress_token: token === undefined ? null : JSON.stringify(token),
    idempotency_key: key,
    request_digest: key === null ? null : digestOf(canonicalJson([source.kind, source.id, given])),
  };
  return startProtocolCall(deps, call.origin, note, async (em) => {
    if (source.kind === 'agent') {
      const agent = await getAgent(em, actor, source.id);
      return invokeAgent(em, actor, agent, { input: () => input, filesAt: '', caller_run_id, limits });
    }
    const { workflow, byGrant } = await getStartable(em, actor, source.id);
    const more = { filesAt: '', caller_run_id, by_grant: byGrant, limits };
    return (await runWorkflow(em, actor, workflow, input, more)).id;
  });
}

/**
 * Reports each entry of the run's log as progress until the run ends. Leaving cancels the run where the
 * protocol says so.
 */
async function waitFor(
  call: McpCall,
  waiting: Parameters<typeof followRun>[0],
  following: Parameters<typeof followRun>[1],
  request: Progress,
): Promise<CallToolResult> {
  const { deps } = call;
  const token = request._meta?.progressToken;
  const entries = followRun(waiting, following);
  for (;;) {
    const next = await entries.next();
    if (next.done) {
      if (next.value === 'gone') {
        if (call.cancelsOnLeave && !deps.isStopping())
          await cancelLeftRun(deps, call, { id: call.id, run_id: following.runId });
        throw new AppError('unavailable', 'client_left', 'The client has left.');
      }
      return runResult(await getRun(deps.orm.em.fork(), waiting.session.actor, following.runId));
    }
    // What a slow client would miss, the result does not need; and a reader that has left is noticed above.
    if (token === undefined || call.isBehind()) continue;
    for (const { seq, message } of next.value.events) {
      call.lastSeq = seq;
      const params = { progressToken: token, progress: seq, message };
      await request.notify({ method: 'notifications/progress', params }).catch(() => {});
    }
  }
}
