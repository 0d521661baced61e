/** What the endpoints of external workers share. */
import { standardError, type DslError, type StandardErrorName } from '../../../contracts/dsl-error.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { placeholderNames } from '../../../contracts/placeholders.ts';
import { Fault } from '../../../contracts/fault.ts';
import type { EntityManager } from '../../../db/orm.ts';
import type { SecretGuard } from '../../../domain/ports.ts';
import { finishJob } from '../../../domain/jobs/finish.ts';
import { findJob, lockJob } from '../../../domain/jobs/job.ts';
import { giveBack, type TakenJob } from '../../../domain/jobs/work.ts';
import type { WorkerCaller } from '../../../domain/jobs/worker-tokens.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import { resolveSecret } from '../../../domain/secrets/service.ts';
import type { AppDeps } from '../../deps.ts';
import type { EndpointContext } from '../../endpoint.ts';
import { identifyAgain } from '../../middleware/identify-again.ts';
import { presentPolled, type pollBody } from './schemas.ts';
import type * as z from 'zod';

type PollContext = EndpointContext<{ id: string }, unknown, z.output<typeof pollBody>>;

/** Waits for jobs, and completes them with the settings of their agent. */
export async function pollJobs(
  deps: AppDeps,
  c: PollContext,
  { holder, name, agentIds }: WorkerCaller,
): Promise<Record<string, unknown>[]> {
  // An unknown parameter is refused before the wait.
  c.checkSyntax();
  const { max, wait_seconds: seconds, queue, worker = name } = c.body;
  const agentId = c.params.id.toLowerCase();
  deps.knownWorkers.seen(agentId, holder, worker);
  const closed = new AbortController();
  c.ctx.res.once('close', () => closed.abort());
  // Who has gone already gets no job.
  if (c.ctx.res.destroyed) closed.abort();
  const poll = { agentId, queue, max, holder, worker };
  const taken = await deps.jobPolls.poll(poll, Math.round(seconds * 1_000), closed.signal);
  if (agentIds === null && taken.length > 0) await keepForPerson(c, taken, holder);
  const jobs: Record<string, unknown>[] = [];
  for (const job of taken) {
    const settings = await settingsOf(deps, c.em, job);
    if (settings !== null) jobs.push(presentPolled(job, settings.value));
  }
  return jobs;
}

/**
 * What hands out jobs has looked at the token of a worker, but of a person only at the account: the session
 * may have ended meanwhile, or wait for a second factor. Then others get the jobs. @throws 401, 403
 */
async function keepForPerson(
  { em, ctx }: Pick<PollContext, 'em' | 'ctx'>,
  taken: readonly TakenJob[],
  holder: string,
): Promise<void> {
  try {
    await identifyAgain(ctx);
  } catch (error) {
    await giveBack(em, taken, holder);
    throw error;
  }
}

/**
 * Null if the job has failed because of them: they name a secret that the owner does not have, or that is
 * not for the workers of the agent's new owner.
 */
async function settingsOf(
  deps: AppDeps,
  em: EntityManager,
  job: TakenJob,
): Promise<{ value: unknown } | null> {
  const { settings } = job.configuration;
  if (!isRecord(settings)) return { value: undefined };
  if (job.is_transferred && placeholderNames(settings).size > 0) {
    const detail =
      'The agent has a new owner since the run began, and its settings name secrets: run it again';
    await failNow(deps, em, job.id, standardError('configuration', detail));
    return null;
  }
  try {
    return { value: (await guardOf(deps, em, job, { mustExist: true })).fill(settings) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    await failNow(deps, em, job.id, error.error);
    return null;
  }
}

async function failNow(deps: AppDeps, em: EntityManager, id: string, error: DslError): Promise<void> {
  const signals = await em.fork().transactional(async (tx) => {
    const found = await findJob(tx, id);
    const job = found && (await lockJob(tx, found));
    return job && job.outcome === null ? ((await finishJob(tx, job, { error })) ?? []) : [];
  });
  await deliverSignals(deps, signals);
}

/**
 * The secrets that the job's worker was given. One that was deleted meanwhile cannot be redacted, and keeps
 * nobody from ending the job. @throws Fault with `mustExist`, if one is missing
 */
export function guardOf(
  { guardSecrets, encryption }: Pick<AppDeps, 'guardSecrets' | 'encryption'>,
  em: EntityManager,
  { configuration, secrets_of: ownerId }: Pick<TakenJob, 'configuration' | 'secrets_of'>,
  { mustExist = false } = {},
): Promise<SecretGuard> {
  return guardSecrets(configuration, async (name) => {
    const value = await resolveSecret(em.fork(), encryption, ownerId, name);
    return value ?? (mustExist ? null : '');
  });
}

const STANDARD_NAMES = {
  configuration: true,
  validation: true,
  expression: true,
  authentication: true,
  authorization: true,
  timeout: true,
  communication: true,
  runtime: true,
} as const satisfies Record<StandardErrorName, true>;

function isStandard(type: string): type is StandardErrorName {
  return Object.hasOwn(STANDARD_NAMES, type);
}

interface ReportedError {
  type?: string | undefined;
  title?: string | undefined;
  detail?: string | undefined;
  status?: number | undefined;
}

/** The error of the task, from what somebody outside reports; the default is `communication`. */
export function errorOf(
  { type = 'communication', title, detail, status }: ReportedError,
  redact: (text: string) => string,
): DslError {
  const more = {
    ...(status === undefined ? {} : { status }),
    ...(title === undefined ? {} : { title: redact(title) }),
  };
  const known = standardError(
    isStandard(type) ? type : 'communication',
    redact(detail ?? title ?? 'The agent has failed'),
    more,
  );
  return isStandard(type) ? known : { ...known, type: redact(type), title: redact(title ?? type) };
}
