/**
 * Invokes an agent with its pinned version and its owner's secrets, and checks its input and output schemas.
 */
import { isRecord } from '../contracts/is-record.ts';
import { LOG_TEXT } from '../contracts/log-texts.ts';
import { agentKind } from '../contracts/agent-configuration.ts';
import type { InvokeAgentInput, Invoked, RunActivities } from '../contracts/activities.ts';
import { EVENT, type NewRunEvent } from '../contracts/run-events.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { describeViolations, violations } from '../language/schema/validate-json.ts';
import type { FileContentMissing, FileStoreUnavailable } from '../domain/files/ports.ts';
import { isTurnStored } from '../domain/conversations/conversation.ts';
import type { StoredTool } from '../domain/conversations/tools.ts';
import type { AgentResult, ModelTurnCall, PinnedAgent } from '../domain/ports.ts';
import { deprecations } from '../domain/runs/deprecations.ts';
import { appendEvents } from '../domain/runs/events.ts';
import type { Begun } from '../domain/runs/invocations.ts';
import { closeOpenJob } from '../domain/jobs/finish.ts';
import { ENTRY_PIN, pinKey, pinOf, statusFor, useAgent } from '../domain/runs/pins.ts';
import { readCallRules, type CallRules } from '../domain/spending/rules.ts';
import { describeAgentCall, describeToolCall } from '../tracing/gen-ai.ts';
import { measured } from './agent-calls.ts';
import { AgentGate } from './agent-gate.ts';
import type { ActivityDeps, CallDeps } from './deps.ts';
import { awaitsCallback, CallbackWait, createWorkerJob } from './create-job.ts';
import { callFiles } from './call-files.ts';
import { isLost } from './files-of-run.ts';
import { invokeOnce, type Calling, type Invocation } from './invocation.ts';
import type { ToolRef } from '../contracts/tool-loop.ts';
import { beginModelTurn, beginsLoop, callServerTool, endModelTurn, openLoop, toolOf } from './tool-loop.ts';

interface Prepared {
  agent: PinnedAgent;
  warnings: string[];
  rules: CallRules;
  /** A language model calls the agent as its tool of this name. */
  tool?: string;
}

/** A tool of an MCP server, which is no agent. */
type Target = Prepared | Extract<StoredTool['target'], { kind: 'mcp' }>;

/** Kinds whose call is not made by the activity, or once for its key. */
const ONCE: ReadonlySet<string> = new Set(['docker', 'edge', 'workflow']);

/** What a call may leave behind. */
interface Rest {
  /** There is a wait for a callback. */
  hasWait: boolean;
  /** What the counterpart keeps of a call that has ended is removed there. */
  cleanUp: (() => Promise<void>) | undefined;
}

/** What one call works with. */
interface Means {
  calling: Calling;
  gate: AgentGate;
  rest: Rest;
}

export function invokeAgentActivity(deps: CallDeps): RunActivities['invokeAgent'] {
  return (input) => {
    let prepared: Target | null = null;
    const gate = new AgentGate(deps, input);
    const rest: Rest = { hasWait: false, cleanUp: undefined };
    const target = (): Target => {
      if (!prepared) throw new Error('not prepared');
      return prepared;
    };
    const { agent, version = null, skill = null, reply = null, tool = null, turn = null, session } = input;
    const ofModel = tool ?? turn ?? session;
    const invocation: Invocation = {
      pin: input.tool ? null : input.entry ? ENTRY_PIN : pinKey(input),
      identity: [
        agent,
        version,
        skill,
        input.input,
        reply,
        ...(ofModel === undefined ? [] : [tool, turn, session ?? null]),
      ],
      async prepare(begun) {
        const { snapshot, agent_status: status } = begun;
        if (input.tool) prepared = await toolTarget(deps, input, input.tool);
        else if (input.entry && snapshot) {
          // The caller's rights were checked when the run was created.
          const now = await useAgent(deps.orm.em.fork(), snapshot.id);
          prepared = admit(snapshot, now, rulesOf(begun));
        } else prepared = snapshot ? admit(snapshot, status, rulesOf(begun)) : await pinNow(deps, input);
        if ('agent' in prepared)
          describeAgentCall({ ...prepared.agent, kind: agentKind(prepared.agent) }, prepared.tool);
      },
      gate,
      enter: async (row, { claimed_before: isRepeat }) => {
        const callee = target();
        // Nothing is called, only told.
        if (input.withdraw) return null;
        // A loop calls nobody by itself: its turns do.
        if (!('agent' in callee) || (!input.turn && beginsLoop(callee.agent, input))) return null;
        // `runContainer` takes the turn of a process.
        const isProcess = agentKind(callee.agent) === 'docker';
        const rules = isProcess ? { ...callee.rules, limits: null } : callee.rules;
        const isMadeAgain = isRepeat && (await repeats(deps, input, callee.agent));
        return gate.enter(row, callee.agent, rules, { isRepeat, isMadeAgain });
      },
      idempotent: () => isRepeatable(target()),
      call: (calling) => callTarget(deps, input, target(), { calling, gate, rest }),
      get stored() {
        return rest.cleanUp;
      },
      async unawaited({ runId, key }) {
        if (rest.hasWait) await closeOpenJob(deps.orm.em.fork(), runId, key);
      },
    };
    const called = (): string | null => (prepared && 'agent' in prepared ? prepared.agent.id : null);
    return measured(deps.agentCalls, called, () => invokeOnce(deps, input, invocation));
  };
}

/** Whether a repeat makes the call again, unless it can follow the first attempt. */
async function repeats(
  { orm }: Pick<ActivityDeps, 'orm'>,
  { turn }: InvokeAgentInput,
  agent: PinnedAgent,
): Promise<boolean> {
  if (ONCE.has(agentKind(agent)) || !isIdempotent(agent)) return false;
  return !turn || !(await isTurnStored(orm.em.fork(), turn.conversation, turn.turn.number));
}

/** A tool is used with the rights of the owner of the agent whose tool it is. */
export async function toolTarget(
  deps: Pick<ActivityDeps, 'orm'>,
  input: Pick<InvokeAgentInput, 'run_id' | 'task' | 'visit'>,
  ref: ToolRef,
): Promise<Target> {
  const { target, name } = await toolOf(deps, input, ref);
  if (target.kind === 'mcp') {
    describeToolCall(name);
    return target;
  }
  if (target.kind !== 'agent') throw fault('runtime', 'The tool is neither an agent nor of an MCP server');
  const { snapshot, rights_of: rightsOf } = target;
  const em = deps.orm.em.fork();
  const status = await statusFor(em, snapshot.id, rightsOf);
  const rules = await readCallRules(em, input.run_id, snapshot.id);
  return { ...admit(snapshot, status, rules), tool: name };
}

/** A repeat makes no second job of an external worker. */
function isRepeatable(target: Target): boolean {
  if (!('agent' in target)) return target.server.idempotent;
  return isIdempotent(target.agent) || agentKind(target.agent) === 'edge';
}

async function callTarget(
  deps: CallDeps,
  input: InvokeAgentInput,
  target: Target,
  means: Means,
): Promise<Invoked> {
  const { calling, gate } = means;
  if (!('agent' in target)) return callServerTool(deps, input, target, calling);
  const { agent } = target;
  if (!input.turn) return call(deps, input, target, means);
  const turn = await beginModelTurn(deps, input, input.turn);
  if ('done' in turn) {
    gate.recordUsage(turn.done.usage);
    return turn.done;
  }
  const { open } = turn;
  const { input: given } = open.conversation;
  const result = await callAgent(deps, { ...input, input: given }, agent, means, open.call);
  if (result.busy) gate.markBusy();
  const usage = await gate.priced(result.usage);
  const priced = { ...result, ...(usage ? { usage } : {}) };
  const ended = await endModelTurn(deps, open, agent, priced);
  return { agent_id: agent.id, agent_version: agent.version, ...ended };
}

export function rulesOf({ budgeted, agent_limits: limits, prices_version: version }: Begun): CallRules {
  return { budgeted, limits, pricesVersion: version ?? 0 };
}

/** Throws `Fault` for an agent that may not be used now. */
export function admit(agent: PinnedAgent, status: string | null, rules: CallRules): Prepared {
  if (status === null) throw fault('configuration', `The agent ${agent.name} does not exist any more`);
  if (status === 'invisible')
    throw fault('configuration', `The workflow's owner may not use the agent ${agent.name} any more`);
  if (status === 'inactive') throw fault('configuration', `The agent ${agent.name} is inactive`);
  return { agent, warnings: deprecations(agent, status), rules };
}

/** Pins an agent that an expression named, at its first use, and appends the event. */
function pinNow(deps: ActivityDeps, input: InvokeAgentInput): Promise<Prepared> {
  return deps.orm.em.fork().transactional(async (em) => {
    const { agent, version } = input;
    const { snapshot } = await pinOf(em, input.run_id, {
      agent,
      ...(version === undefined ? {} : { version }),
    });
    await appendEvents(em, input.run_id, { events: [pinned(input, snapshot)], projection: null, acks: [] });
    const status = await useAgent(em, snapshot.id);
    return admit(snapshot, status, await readCallRules(em, input.run_id, snapshot.id));
  });
}

function pinned(input: InvokeAgentInput, agent: PinnedAgent): NewRunEvent {
  return {
    key: `pin:${input.agent}@${input.version ?? ''}`,
    type: EVENT.agentPinned,
    at: new Date().toISOString(),
    level: 'info',
    task: input.task,
    message: LOG_TEXT.agentPinned(agent.name, agent.version),
    data: { visit: input.visit, agent_id: agent.id, agent_version: agent.version, agent: agent.name },
  };
}

/** `configuration.retry.idempotent: false` is the owner's statement that repeating a call does harm. */
function isIdempotent(agent: PinnedAgent): boolean {
  const { retry } = agent.configuration;
  return !(isRecord(retry) && retry['idempotent'] === false);
}

async function call(
  deps: ActivityDeps,
  input: InvokeAgentInput,
  prepared: Prepared,
  means: Means,
): Promise<Invoked> {
  const { agent, warnings } = prepared;
  const { calling, gate } = means;
  const agentVersion = { agent_id: agent.id, agent_version: agent.version };
  if (input.entry) return enterRun(agent, gate);
  const inputViolations = violations(agent.input_schema, input.input);
  if (inputViolations.length > 0)
    throw fault(
      'validation',
      `The input does not fit the input_schema of ${agent.name}: ${describeViolations(inputViolations)}`,
    );
  if (agentKind(agent) === 'workflow') return childRunRequest(input, prepared, gate);
  if (agentKind(agent) === 'edge') {
    const usage = await gate.priced(undefined);
    const awaits = await createWorkerJob(deps, { input, agent, key: calling.idempotencyKey, usage });
    return { ...agentVersion, output: null, warnings, awaits };
  }
  if (agentKind(agent) === 'docker') return { ...agentVersion, output: null, warnings, process: true };
  if (beginsLoop(agent, input)) {
    const loop = await openLoop(deps, input, agent, calling);
    return { ...agentVersion, output: null, warnings, loop };
  }
  const result = await callAgent(deps, input, agent, means);
  if (input.withdraw) return { ...agentVersion, output: null };
  if (result.awaits) {
    const waited = { input, agent, key: calling.idempotencyKey, usage: undefined };
    const awaits = { ...(await new CallbackWait(deps, waited).awaits()), ...result.awaits };
    return { ...agentVersion, output: null, warnings, awaits };
  }
  const outputViolations = result.ask ? [] : violations(agent.output_schema, result.output);
  if (outputViolations.length > 0)
    throw fault(
      'validation',
      `The answer of ${agent.name} does not fit its output_schema: ${describeViolations(outputViolations)}`,
    );
  const usage = await gate.priced(result.usage);
  const allWarnings = [...warnings, ...(result.warnings ?? [])];
  return {
    ...agentVersion,
    output: result.output,
    ...(result.ask ? { ask: result.ask } : {}),
    ...(usage ? { usage } : {}),
    ...(allWarnings.length > 0 ? { warnings: allWarnings } : {}),
  };
}

/** The run itself is the call, which has passed everything now. */
async function enterRun({ id, version }: PinnedAgent, gate: AgentGate): Promise<Invoked> {
  gate.handTurnToRun();
  const priced = await gate.priced(undefined);
  return { agent_id: id, agent_version: version, output: null, ...(priced ? { usage: priced } : {}) };
}

/** The caller starts the run that is the call. */
async function childRunRequest(
  { input }: InvokeAgentInput,
  { agent, warnings, tool }: Prepared,
  gate: AgentGate,
): Promise<Invoked> {
  gate.handTurnToRun();
  const priced = await gate.priced(undefined);
  return {
    agent_id: agent.id,
    agent_version: agent.version,
    output: null,
    warnings,
    ...(priced ? { usage: priced } : {}),
    child: { ...childOf(agent, input), ...(tool === undefined ? {} : { rights_of: agent.owner_id }) },
  };
}

/** Calls the agent through its adapter. */
async function callAgent(
  deps: ActivityDeps,
  input: InvokeAgentInput,
  agent: PinnedAgent,
  { calling, gate, rest }: Means,
  turn?: ModelTurnCall,
): Promise<AgentResult> {
  const key = calling.idempotencyKey;
  const wait =
    awaitsCallback(agent) && !input.withdraw
      ? new CallbackWait(deps, { input, agent, key, usage: await gate.priced(undefined) })
      : null;
  rest.hasWait = wait !== null;
  const files = callFiles(deps, input.run_id, input.timeout_ms);
  const partial = input.stream === true ? deps.partials.open(input) : null;
  let result: AgentResult;
  let isWhole = false;
  try {
    result = await deps.adapters
      .invoke({
        agent,
        input: input.input,
        timeoutMs: input.timeout_ms,
        secret: (name) => deps.secret(agent.owner_id, name),
        files,
        ...(input.skill === undefined ? {} : { skill: input.skill }),
        ...(gate.reply === undefined ? {} : { reply: gate.reply }),
        ...(input.withdraw === undefined ? {} : { withdraw: input.withdraw }),
        ...(wait === null ? {} : { callback: () => wait.address() }),
        ...(partial ? { partial } : {}),
        ...(turn ? { turn } : {}),
        cleanUp: (work) => (rest.cleanUp = work),
        ...calling,
      })
      .catch((error: unknown) => {
        if (error instanceof Fault) gate.recordUsage(error.used);
        const failure = files.storeFailure();
        throw failure === null ? namingAgent(error, agent.name) : ownFailure(failure, isIdempotent(agent));
      });
    gate.recordUsage(result.usage);
    isWhole = result.ask === undefined;
  } finally {
    await partial?.end({ isWhole });
  }
  return result;
}

/** A run can call many agents: the error says which one failed. */
function namingAgent(error: unknown, name: string): unknown {
  if (!(error instanceof Fault) || error.error.detail?.includes(name)) return error;
  const { detail = error.message } = error.error;
  return new Fault({ ...error.error, detail: `The agent ${name}: ${detail}` }, { cause: error });
}

/**
 * A failure of the platform, not of the agent. Temporal repeats the activity; if that cannot help, it is a
 * runtime error that says so.
 */
function ownFailure(failure: FileStoreUnavailable | FileContentMissing, repeatable: boolean): Error {
  if (repeatable && !isLost(failure)) return failure;
  return fault('runtime', `The platform's file store failed, not the agent: ${failure.message}`, {
    cause: failure,
  });
}

function childOf(agent: PinnedAgent, input: unknown): NonNullable<Invoked['child']> {
  const { workflow_id: workflowId, revision } = agent.configuration;
  if (typeof workflowId !== 'string')
    throw fault('configuration', `configuration.workflow_id of the agent ${agent.name} names no workflow`);
  return {
    workflow_id: workflowId,
    revision: typeof revision === 'number' ? revision : null,
    input,
    output_schema: agent.output_schema,
  };
}
