/** The call of an agent of kind `edge`: a job for its workers. */
import { ApplicationFailure } from '@temporalio/common';
import { DEFAULT_QUEUE, edgeConfiguration } from '../contracts/agent-kinds/edge.ts';
import { FAILURE, type AwaitedOutcome, type InvokeAgentInput } from '../contracts/activities.ts';
import { parseConfiguration, timeoutOf } from '../adapters/call-settings.ts';
import type { PinnedAgent } from '../domain/ports.ts';
import { createJob, type NewJob } from '../domain/jobs/job.ts';
import type { ActivityDeps } from './deps.ts';

const LEASE_MS = 60_000;
const SHORTEST_LEASE_MS = 5_000;
const LONGEST_LEASE_MS = 3_600_000;
const MAX_ATTEMPTS = 5;

/** A repeat finds the job that the first attempt has made. */
export async function createWorkerJob(
  deps: ActivityDeps,
  input: InvokeAgentInput,
  agent: PinnedAgent,
  key: string,
): Promise<AwaitedOutcome> {
  const configuration = parseConfiguration(edgeConfiguration, agent.configuration);
  const leaseMs =
    configuration.lease === undefined ? LEASE_MS : timeoutOf(configuration.lease, LONGEST_LEASE_MS, 'lease');
  const { until } = await storeJob(deps, {
    ...jobOf(input, agent, key),
    kind: 'worker',
    queue: configuration.queue ?? DEFAULT_QUEUE,
    input: input.input,
    configuration: { settings: configuration.settings ?? null },
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
