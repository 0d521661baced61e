/** An agent's invocation: its pinned version, its owner's secrets, its schemas on both sides. */
import { agentKind } from '../contracts/agent-configuration.ts';
import type { InvokeAgentInput, Invoked, RunActivities } from '../contracts/activities.ts';
import { EVENT } from '../contracts/run-events.ts';
import type { NewRunEvent } from '../contracts/run-events.ts';
import { fault } from '../contracts/fault.ts';
import { describeViolations, violations } from '../contracts/validate-json.ts';
import type { PinnedAgent } from '../domain/ports.ts';
import { appendEvents } from '../domain/runs/events.ts';
import { pinKey, pinOf, useAgent } from '../domain/runs/pins.ts';
import type { ActivityDeps } from './deps.ts';
import { callFiles } from './call-files.ts';
import { invokeOnce } from './invocation.ts';
import type { Calling } from './invocation.ts';

interface Prepared {
  agent: PinnedAgent;
  warnings: string[];
}

export function invokeAgentActivity(deps: ActivityDeps): RunActivities['invokeAgent'] {
  return (input) => {
    let prepared: Prepared | null = null;
    const agent = (): PinnedAgent => {
      if (!prepared) throw new Error('not prepared');
      return prepared.agent;
    };
    return invokeOnce(deps, input, {
      pin: pinKey(input),
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
  if (status === 'invisible') throw fault('configuration', `The workflow's owner may not use the agent ${agent.name} any more`);
  if (status === 'inactive') throw fault('configuration', `The agent ${agent.name} is inactive`);
  return { agent, warnings: status === 'deprecated' ? [`The agent ${agent.name} is deprecated`] : [] };
}

/** An agent that an expression named: pinned at its first use, by an event that says so. */
function pinNow(deps: ActivityDeps, input: InvokeAgentInput): Promise<Prepared> {
  return deps.orm.em.fork().transactional(async (em) => {
    const { agent, version } = input;
    const { snapshot } = await pinOf(em, input.run_id, { agent, ...(version === undefined ? {} : { version }) });
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
    message: `${agent.name} ${agent.version} is pinned from here on`,
    data: { visit: input.visit, agent_id: agent.id, agent_version: agent.version, agent: agent.name },
  };
}

/** `configuration.retry.idempotent: false` is the owner's word that a repeated call does harm. */
function isIdempotent(agent: PinnedAgent): boolean {
  const { retry } = agent.configuration;
  return !(typeof retry === 'object' && retry !== null && 'idempotent' in retry && retry.idempotent === false);
}

async function call(
  deps: ActivityDeps,
  input: InvokeAgentInput,
  agent: PinnedAgent,
  warnings: string[],
  calling: Calling,
): Promise<Invoked> {
  const who = { agent_id: agent.id, agent_version: agent.version };
  const wrongInput = violations(agent.input_schema, input.input);
  if (wrongInput.length > 0) throw fault('validation', `The input does not fit the input_schema of ${agent.name}: ${describeViolations(wrongInput)}`);
  if (agentKind(agent) === 'workflow') return { ...who, output: null, warnings, child: childOf(agent, input.input) };
  const result = await deps.adapters.invoke({
    agent,
    input: input.input,
    timeoutMs: input.timeout_ms,
    secret: (name) => deps.secret(agent.owner_id, name),
    files: callFiles(deps, input.run_id, input.timeout_ms),
    ...(input.skill === undefined ? {} : { skill: input.skill }),
    ...(input.reply === undefined ? {} : { reply: input.reply }),
    ...calling,
  });
  const wrongOutput = result.ask ? [] : violations(agent.output_schema, result.output);
  if (wrongOutput.length > 0) throw fault('validation', `The answer of ${agent.name} does not fit its output_schema: ${describeViolations(wrongOutput)}`);
  const all = [...warnings, ...(result.warnings ?? [])];
  return {
    ...who,
    output: result.output,
    ...(result.ask ? { ask: result.ask } : {}),
    ...(result.usage ? { usage: { ...result.usage } } : {}),
    ...(all.length > 0 ? { warnings: all } : {}),
  };
}

function childOf(agent: PinnedAgent, input: unknown): NonNullable<Invoked['child']> {
  const { workflow_id: workflowId, revision } = agent.configuration;
  if (typeof workflowId !== 'string') throw fault('configuration', `configuration.workflow_id of the agent ${agent.name} names no workflow`);
  return { workflow_id: workflowId, revision: typeof revision === 'number' ? revision : null, input, output_schema: agent.output_schema };
}
