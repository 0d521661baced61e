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
import type { AgentResult, PinnedAgent } from '../domain/ports.ts';
import { deprecations } from '../domain/runs/deprecations.ts';
import { appendEvents } from '../domain/runs/events.ts';
import { pinKey, pinOf, useAgent } from '../domain/runs/pins.ts';
import type { ActivityDeps, CallDeps } from './deps.ts';
import { callFiles } from './call-files.ts';
import { isLost } from './files-of-run.ts';
import { invokeOnce, type Calling } from './invocation.ts';

interface Prepared {
  agent: PinnedAgent;
  warnings: string[];
}

export function invokeAgentActivity(deps: CallDeps): RunActivities['invokeAgent'] {
  return (input) => {
    let prepared: Prepared | null = null;
    const agent = (): PinnedAgent => {
      if (!prepared) throw new Error('not prepared');
      return prepared.agent;
    };
    return invokeOnce(deps, input, {
      pin: pinKey(input),
      identity: [input.agent, input.version ?? null, input.skill ?? null, input.input, input.reply ?? null],
      async prepare({ snapshot, agent_status: status }) {
        prepared = snapshot ? admit(snapshot, status) : await pinNow(deps, input);
      },
      idempotent: () => isIdempotent(agent()),
      call: (calling) => call(deps, input, agent(), prepared?.warnings ?? [], calling),
    });
  };
}

function admit(agent: PinnedAgent, status: string | null): Prepared {
  if (status === null) throw fault('configuration', `The agent ${agent.name} does not exist any more`);
  if (status === 'invisible')
    throw fault('configuration', `The workflow's owner may not use the agent ${agent.name} any more`);
  if (status === 'inactive') throw fault('configuration', `The agent ${agent.name} is inactive`);
  return { agent, warnings: deprecations(agent, status) };
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
    return admit(snapshot, await useAgent(em, snapshot.id));
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
  agent: PinnedAgent,
  warnings: string[],
  calling: Calling,
): Promise<Invoked> {
  const agentVersion = { agent_id: agent.id, agent_version: agent.version };
  const inputViolations = violations(agent.input_schema, input.input);
  if (inputViolations.length > 0)
    throw fault(
      'validation',
      `The input does not fit the input_schema of ${agent.name}: ${describeViolations(inputViolations)}`,
    );
  if (agentKind(agent) === 'workflow')
    return { ...agentVersion, output: null, warnings, child: childOf(agent, input.input) };
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
        ...(input.reply === undefined ? {} : { reply: input.reply }),
        ...(partial ? { partial } : {}),
        ...calling,
      })
      .catch((error: unknown) => {
        const failure = files.storeFailure();
        throw failure === null ? namingAgent(error, agent.name) : ownFailure(failure, isIdempotent(agent));
      });
    isWhole = result.ask === undefined;
  } finally {
    await partial?.end({ isWhole });
  }
  const outputViolations = result.ask ? [] : violations(agent.output_schema, result.output);
  if (outputViolations.length > 0)
    throw fault(
      'validation',
      `The answer of ${agent.name} does not fit its output_schema: ${describeViolations(outputViolations)}`,
    );
  const allWarnings = [...warnings, ...(result.warnings ?? [])];
  return {
    ...agentVersion,
    output: result.output,
    ...(result.ask ? { ask: result.ask } : {}),
    ...(result.usage ? { usage: { ...result.usage } } : {}),
    ...(allWarnings.length > 0 ? { warnings: allWarnings } : {}),
  };
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
