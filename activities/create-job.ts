/** Calls whose outcome comes from outside: jobs of agents of kind `edge`, and waits for callbacks. */
import { ApplicationFailure } from '@temporalio/common';
import { DEFAULT_QUEUE, edgeConfiguration } from '../contracts/agent-kinds/edge.ts';
import { FAILURE, type AwaitedOutcome, type InvokeAgentInput } from '../contracts/activities.ts';
import { agentKind } from '../contracts/agent-configuration.ts';
import { apiConfiguration } from '../contracts/agent-kinds/api.ts';
import { isRecord } from '../contracts/is-record.ts';
import { placeholderNames } from '../contracts/placeholders.ts';
import { LONGEST_CALLBACK_MS } from '../domain/jobs/callback-token.ts';
import { parseConfiguration, timeoutOf } from '../adapters/call-settings.ts';
import type { PinnedAgent, Usage } from '../domain/ports.ts';
import { createJob, type NewJob } from '../domain/jobs/job.ts';
import type { ActivityDeps } from './deps.ts';

const LEASE_MS = 60_000;
const SHORTEST_LEASE_MS = 5_000;
const LONGEST_LEASE_MS = 3_600_000;
const MAX_ATTEMPTS = 5;

/** A call whose outcome comes from outside. */
interface AwaitedCall {
  input: InvokeAgentInput;
  agent: PinnedAgent;
  /** Idempotency key of the invocation. */
  key: string;
  /** What the call costs by itself. */
  usage: Usage | undefined;
}

/** A repeat finds the job that the first attempt has made. */
export async function createWorkerJob(
  deps: ActivityDeps,
  { input, agent, key, usage }: AwaitedCall,
): Promise<AwaitedOutcome> {
  const configuration = parseConfiguration(edgeConfiguration, agent.configuration);
  const leaseMs =
    configuration.lease === undefined ? LEASE_MS : timeoutOf(configuration.lease, LONGEST_LEASE_MS, 'lease');
  const { until } = await storeJob(deps, {
    ...jobOf(input, agent, key),
    kind: 'worker',
    queue: configuration.queue ?? DEFAULT_QUEUE,
    input: input.input,
    configuration: {
      settings: configuration.settings ?? null,
      // A worker may state what it has used.
      pricing: { price: agent.configuration['price'], model: agent.configuration['model'] },
      ...(usage ? { usage } : {}),
    },
    repeatable: configuration.retry?.idempotent !== false,
    maxAttempts: configuration.max_attempts ?? MAX_ATTEMPTS,
    leaseMs: Math.max(SHORTEST_LEASE_MS, leaseMs),
    timeoutMs: timeoutOf(configuration.timeout, input.timeout_ms),
  });
  return { key, until };
}

/** What all jobs of a call have in common. */
function jobOf(
  input: InvokeAgentInput,
  agent: PinnedAgent,
  key: string,
): Pick<NewJob, 'run_id' | 'key' | 'task' | 'visit' | 'attempt' | 'agent'> {
  const { run_id, task, visit, attempt } = input;
  return { run_id, key, task, visit, attempt, agent };
}

async function storeJob(deps: ActivityDeps, job: NewJob): Promise<AwaitedOutcome & { id: string }> {
  const created = await createJob(deps.orm.em.fork(), job);
  if (created === null) throw ApplicationFailure.nonRetryable('The run is over', FAILURE.closed);
  return created;
}

/**
 * The wait for the callback of an agent of kind `api`. It is stored when its address is asked for, and once
 * for the call.
 */
export class CallbackWait {
  readonly #deps: ActivityDeps;
  readonly #call: AwaitedCall;

  constructor(deps: ActivityDeps, call: AwaitedCall) {
    this.#deps = deps;
    this.#call = call;
  }

  async address(): Promise<{ url: string; token: string }> {
    const { id, until } = await this.#stored();
    return this.#deps.callbackAddress(id, new Date(until));
  }

  async awaits(): Promise<AwaitedOutcome> {
    const { key, until } = await this.#stored();
    return { key, until };
  }

  #stored(): Promise<AwaitedOutcome & { id: string }> {
    const { input, agent, key, usage } = this.#call;
    const { async: long, response, timeout } = parseConfiguration(apiConfiguration, agent.configuration);
    const { state, succeeded, failed, error } = long ?? {};
    const rules = { state, succeeded, failed, error, response };
    const isRuled = Object.values(rules).some((rule) => rule !== undefined);
    // Only names of secrets: what a callback brings is redacted.
    const protects = placeholderNames([agent.configuration, agent.url, agent.authentication_config]);
    return storeJob(this.#deps, {
      ...jobOf(input, agent, key),
      kind: 'callback',
      queue: '',
      input: null,
      configuration: {
        protects: Array.from(protects, (name) => `<${name}>`),
        ...(isRuled ? { rules } : {}),
        ...(usage ? { usage } : {}),
      },
      repeatable: false,
      maxAttempts: 1,
      leaseMs: 0,
      timeoutMs: Math.min(LONGEST_CALLBACK_MS, timeoutOf(timeout, input.timeout_ms)),
    });
  }
}

/** Whether the agent's outcome comes by a callback. */
export function awaitsCallback(agent: PinnedAgent): boolean {
  const { async: long } = agent.configuration;
  return agentKind(agent) === 'api' && isRecord(long) && long['mode'] === 'callback';
}
