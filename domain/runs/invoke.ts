/**
 * Runs an agent on its own (docs/interface.md#invoke-an-agent): a `workflow` agent runs its workflow, any
 * other agent becomes the only step of a run.
 */
import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { agentKind } from '../../contracts/agent-configuration.ts';
import type { Budget } from '../../contracts/budgets.ts';
import { MAX_SESSION_ID, MODEL_KINDS } from '../../contracts/tool-loop.ts';
import { inputFault } from '../../language/schema/form-errors.ts';
import { describeViolations } from '../../language/schema/validate-json.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf, mayUse, usableBy } from '../auth/ownership.ts';
import { forbidden, invalid } from '../errors.ts';
import type { PinnedAgent } from '../ports.ts';
import { mayChangeAgent } from '../registry/agent-policy.ts';
import { pinAgent, type Share } from '../registry/pin.ts';
import { entry, entryOf, shareOf } from './pins.ts';
import { deprecations } from './deprecations.ts';
import { schemaViolations } from '../schema-check.ts';
import type { RunLimits } from './limits.ts';
import { readRunnable, type Runnable } from './runnable.ts';
import { runAgent, runWorkflow } from './service.ts';

export interface AgentInvocation {
  /** Semantic version, range or `draft`. Default: the highest published version. */
  version?: string | undefined;
  /** For language models: the conversation to continue. */
  session?: string | undefined;
  /** The session for language models with `memory: true`, unless another one is given. */
  context?: string;
  /** See `NewRun`. */
  caller_run_id?: string | null;
  /** Those who follow the run see the output while it grows, where the agent can show it. */
  streams?: boolean;
  /**
   * Builds the input for the invoked version; null if the agent cannot be resolved, in which case the run
   * faults.
   */
  input(agent: PinnedAgent | null): unknown;
  /** See `runWorkflow`. */
  filesAt?: string;
  budget?: Budget | undefined;
  limits: RunLimits;
}

type InvokedAgent = Pick<Agent, 'id' | 'name' | 'owner_id' | 'team_id' | 'visibility'>;

/**
 * @returns the run's id. @throws 422 for an unknown version, or an input that does not match the schema of
 * the agent or its workflow; 403 for a draft of another user's agent; 429 at the limit of live runs
 */
export async function invokeAgent(
  em: EntityManager,
  actor: Actor,
  agent: InvokedAgent,
  invocation: AgentInvocation,
): Promise<string> {
  const { version, caller_run_id = null, streams = false, budget, limits } = invocation;
  if (!mayUse(actor, agent))
    throw forbidden('Calling this agent requires the role builder, in its team.', 'role_required');
  // The caller may see the agent; admins use private agents with the owner's rights.
  const rights = mayChangeAgent(actor, agent) ? holderOf(agent) : actor.id;
  const id = uuidv7();
  const { share, wasAsked } = sharing(em, id, agent.id);
  const pin = await pinAgent(em, rights, { agent: agent.id, version }, share);
  // Only a canary asks for the run's id; other runs need not be looked for by it.
  const started = wasAsked() ? { id } : {};
  if (!pin.found && pin.reason === 'draft_forbidden') throw forbidden(pin.message, pin.reason);
  if (!pin.found && version !== undefined)
    throw invalid([{ pointer: '/version', code: pin.reason, message: pin.message }], pin.message, pin.reason);
  const pinned = pin.found ? pin.pinned : null;
  if (invocation.session !== undefined && pinned !== null) checkHasSessions(pinned);
  const session = invocation.session ?? (pinned === null ? undefined : memoryOf(pinned, invocation.context));
  const input = invocation.input(pinned);
  if (pinned !== null) await checkInput(actor, pinned, input);
  const workflow =
    pin.found && pin.pinned.type === 'workflow' && pin.status !== 'inactive'
      ? await workflowOf(em, pin.pinned)
      : null;
  if (workflow === null)
    return (
      await runAgent(em, actor, agent, input, {
        ...started,
        version,
        session,
        caller_run_id,
        streams,
        budget,
        filesAt: invocation.filesAt,
        limits,
      })
    ).id;
  const warnings = pin.found ? deprecations(pin.pinned, pin.status) : [];
  const charged = { agent_id: agent.id, charged_agent_id: agent.id };
  const entered = pinned && (budget ? entry(pinned) : await entryOf(em, pinned, [workflow.id, actor.id]));
  const enters = entered === null ? {} : { enters: entered };
  const files = invocation.filesAt === undefined ? {} : { filesAt: invocation.filesAt };
  const asked = { ...files, budget, caller_run_id, streams, warnings, limits };
  const more = { ...started, ...charged, ...enters, ...asked };
  return (await runWorkflow(em, actor, workflow, input, more)).id;
}

/** The share of a run that is not created yet, and whether it was asked for. */
function sharing(em: EntityManager, id: string, agentId: string) {
  const share = shareOf(em, { id }, { agent: agentId });
  let asked = false;
  return {
    share: ((of, canary) => {
      asked = true;
      return share(of, canary);
    }) satisfies Share,
    wasAsked: () => asked,
  };
}

function checkHasSessions(agent: PinnedAgent): void {
  if (MODEL_KINDS.has(agentKind(agent))) return;
  const message = 'Only language models have sessions.';
  throw invalid([{ pointer: '/session', code: 'no_sessions', message }], message, 'no_sessions');
}

/** The session that a context of A2A is for the agent. */
function memoryOf(agent: PinnedAgent, context: string | undefined): string | undefined {
  if (context === undefined || !MODEL_KINDS.has(agentKind(agent)) || agent.configuration['memory'] !== true)
    return undefined;
  if (context.length <= MAX_SESSION_ID) return context;
  return createHash('sha256').update(context).digest('hex');
}

/** Fail early, so the caller sees the reason instead of a faulted run. */
async function checkInput(actor: Actor, agent: PinnedAgent, input: unknown): Promise<void> {
  const found = await schemaViolations(actor.id, agent.input_schema, input);
  if (found.length === 0) return;
  const mismatches = found.map((mismatch) => ({ ...mismatch, message: inputFault(mismatch) }));
  throw invalid(
    mismatches.map(({ pointer, message }) => ({ pointer: `/input${pointer}`, code: 'schema', message })),
    `The input does not fit the agent's input_schema: ${describeViolations(mismatches)}`,
  );
}

/**
 * The workflow of a `workflow` agent, with the rights of the agent's owner; null if it is unavailable, in
 * which case the run faults.
 */
async function workflowOf(em: EntityManager, agent: PinnedAgent): Promise<Runnable | null> {
  const { workflow_id: id, revision } = agent.configuration;
  if (typeof id !== 'string') return null;
  const [row] = await em.execute<{ id: string }[]>(
    `select id from workflow
      where id::text = ? and archived_at is null and ${usableBy('workflow')}`,
    [id, agent.owner_id],
  );
  return row
    ? readRunnable(em, { id: row.id, revision: typeof revision === 'number' ? revision : null }).catch(
        () => null,
      )
    : null;
}
