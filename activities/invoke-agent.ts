/** An agent's invocation: its pinned version, its owner's secrets, its schemas on both sides. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { InvokeAgentInput, Invoked, RunActivities } from '../contracts/activities.ts';
import { EVENT } from '../contracts/run-events.ts';
import type { NewRunEvent } from '../contracts/run-events.ts';
import { fault } from '../contracts/fault.ts';
import { describeViolations, violations } from '../contracts/validate-json.ts';
import type { PinnedAgent } from '../domain/ports.ts';
import { appendEvents } from '../domain/runs/events.ts';
import { pinOf, useAgent } from '../domain/runs/pins.ts';
import type { ActivityDeps } from './deps.ts';
import { invokeOnce } from './invocation.ts';

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
      async prepare(em) {
        prepared = await prepare(em, input);
      },
      idempotent: () => prepared === null || isIdempotent(agent()),
      call: (calling) => call(deps, input, agent(), prepared?.warnings ?? [], calling),
    });
  };
}

async function prepare(em: EntityManager, input: InvokeAgentInput): Promise<Prepared> {
  const { snapshot, fresh } = await pinOf(em, input.run_id, { agent: input.agent, ...(input.version === undefined ? {} : { version: input.version }) });
  await showAgent(em, input, snapshot);
  if (fresh) await appendEvents(em, input.run_id, { events: [pinned(input, snapshot)], projection: null, acks: [] });
  const status = await useAgent(em, snapshot.id);
  if (status === null) throw fault('configuration', `The agent ${snapshot.name} does not exist any more`);
  if (status === 'inactive') throw fault('configuration', `The agent ${snapshot.name} is inactive`);
  return { agent: snapshot, warnings: status === 'deprecated' ? [`The agent ${snapshot.name} is deprecated`] : [] };
}

async function showAgent(em: EntityManager, input: InvokeAgentInput, agent: PinnedAgent): Promise<void> {
  await em.execute(`update run_task set agent_id = ?, agent_version = ? where run_id = ? and reference = ? and visit = ?`, [
    agent.id,
    agent.version,
    input.run_id,
    input.task,
    input.visit,
  ]);
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
  calling: { idempotencyKey: string; signal: AbortSignal; heartbeat(details?: unknown): void },
): Promise<Invoked> {
  const who = { agent_id: agent.id, agent_version: agent.version };
  const wrongInput = violations(agent.input_schema, input.input);
  if (wrongInput.length > 0) throw fault('validation', `The input does not fit the input_schema of ${agent.name}: ${describeViolations(wrongInput)}`);
  if (agent.type === 'workflow') return { ...who, output: null, warnings, child: childOf(agent, input.input) };
  const result = await deps.adapters.invoke({
    agent,
    input: input.input,
    timeoutMs: input.timeout_ms,
    secret: (name) => deps.secret(agent.owner_id, name),
    ...calling,
  });
  const wrongOutput = violations(agent.output_schema, result.output);
  if (wrongOutput.length > 0) throw fault('validation', `The answer of ${agent.name} does not fit its output_schema: ${describeViolations(wrongOutput)}`);
  const all = [...warnings, ...(result.warnings ?? [])];
  return {
    ...who,
    output: result.output,
    ...(result.usage ? { usage: { ...result.usage } } : {}),
    ...(all.length > 0 ? { warnings: all } : {}),
  };
}

function childOf(agent: PinnedAgent, input: unknown): NonNullable<Invoked['child']> {
  const { workflow_id: workflowId, revision } = agent.configuration;
  if (typeof workflowId !== 'string') throw fault('configuration', `configuration.workflow_id of the agent ${agent.name} names no workflow`);
  return { workflow_id: workflowId, revision: typeof revision === 'number' ? revision : null, input };
}
